/** What the orders of the operator work with while the hub runs. */
import type { Config } from './config.ts'
import type { ClockWatch } from './core/clock-watch.ts'
import type { Hub } from './core/hub.ts'
import { rotateIdentity } from './core/identity.ts'
import type { Remembered } from './data-dir.ts'
import type { Log } from './log.ts'
import type { FileLeases } from './operator/leases.ts'
import type { OperatorContext, RunningState } from './operator/order-shapes.ts'
import type { PeerList } from './peers/list.ts'
import type { StoreHealth } from './store/port.ts'

type Served = {
  config: Config
  log: Log
  now: () => number
  hub: Hub
  peerList: PeerList
  leases: FileLeases
  addresses: Pick<RunningState, 'url' | 'baseUrl' | 'operatorUrl' | 'besideUrl' | 'adminUrl'>
  clock: ClockWatch
  remembered: Remembered
}

const NOBODY_JOINS =
  'nobody can use this code yet: only agents of wire 1 join by one; start the hub with --wire1-listen'

export function contextOfOrders({
  config,
  log,
  now,
  hub,
  peerList,
  leases,
  addresses,
  clock,
  remembered,
}: Served): OperatorContext {
  const { store, verifier } = hub.context
  return {
    aid: hub.context.identity.aid,
    store,
    agents: hub.agents,
    invites: hub.invites,
    invitesUnusable: config.wires.includes(1) || config.wire1 !== undefined ? undefined : NOBODY_JOINS,
    moderation: hub.moderation,
    now,
    limits: config.limits,
    peers: hub.context.peers,
    peerList,
    rotate: () =>
      remembered.rotating(() => {
        const next = rotateIdentity(config.dataDir, hub.context.identity, now, hub.context.random)
        hub.adoptIdentity(next)
        return next
      }),
    issuance: async () => hub.issuance,
    paidDebts: async () => hub.paidDebts,
    clearSoon: peer => hub.keptClearing.now(peer),
    audit: order => log.info('order', order),
    changed: aid => hub.agents.forgetAccount(aid),
    endSigner: hub.endSigner,
    refused: hub.registry.refused,
    holdClock: hub.credits.holds.clock,
    clockBehindMs: () => clock.behindMs,
    leases,
    database: remembered.database,
    running: async () => ({
      ...addresses,
      outside: config.outside ?? [],
      pid: process.pid,
      clockBehindMs: clock.behindMs,
      ...(await healthOf(hub)),
      signatures: await verifier.engine().catch(() => undefined),
    }),
  }
}

/** A disk may be too full for mail while small writes succeed. */
export async function healthOf({ context, sends }: Hub): Promise<StoreHealth> {
  const health = await context.store.health()
  return { ...health, full: health.full || sends.isShortOfRoom }
}
