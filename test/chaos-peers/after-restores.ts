/** What the people of hubs and nodes do once a hub was put back: they read what is told of it, and go on. */
import { cidText } from '../../protocol/crypto/hash.ts'
import { type Restore, wasPutBack } from '../matrix/peers/side.ts'
import type { ChaosHub } from './hub.ts'
import type { Signed } from './node-books.ts'
import { accountsOf, type HubName, hubNames, nodeNames, type PeersChaos } from './world.ts'

/** What an operator is told where two hubs go on to say something else of a debt. */
const DIFFERS = 'a peer says something else of what this hub owes it'
const LOST = /^it signed that .*\b(b[a-z2-7]{50,})\b/
const SHORT = /and its balance says \d+$/

type PeerRow = { aid: string; clearing?: { state: string } }
export type Found = { faults: string[]; reopened: number; accepted: number }

/** Whether a restore explains that two hubs say something else of what one owes the other, and they say so. */
export const isToldApart = (one: ChaosHub, other: ChaosHub): boolean =>
  [one, other].some(hub => wasPutBack(hub, 0)) && [one, other].some(hub => hub.wasTold(DIFFERS))

/** Payments that two hubs stopped go on, as their operators say. */
export async function reopen(world: PeersChaos): Promise<Found> {
  const found: Found = { faults: [], reopened: 0, accepted: 0 }
  for (const name of hubNames) {
    const reply = await world.order(name, { command: 'peers' })
    const rows = (reply.ok ? (reply.result as { peers: PeerRow[] }).peers : []).filter(
      ({ clearing }) => clearing?.state === 'stopped',
    )
    for (const { aid } of rows) {
      const other = world.hubs.find(hub => hub.aid === aid) as ChaosHub
      if (!isToldApart(world.hub(name), other))
        found.faults.push(`${name} stopped payments with ${other.name}, and no restore explains that`)
      await world.order(name, { command: 'peers', reopen: aid })
      found.reopened += 1
    }
  }
  return found
}

type Audited = { signed: readonly Signed[]; sinceMs: number }

/** Every node compares its accounts with what its hubs publish: a gap is one of a hub that was put back, and of that time. */
export async function audit(world: PeersChaos, audited: Audited): Promise<Found> {
  const found: Found = { faults: [], reopened: 0, accepted: 0 }
  for (const node of nodeNames)
    for (const name of accountsOf(node)) await auditOne({ world, node, name }, audited, found)
  return found
}

type Account = { world: PeersChaos; node: string; name: HubName }

async function auditOne({ world, node, name }: Account, audited: Audited, found: Found): Promise<void> {
  const hub = world.hub(name)
  const look = async (more: { accept?: true }): Promise<string | undefined> => {
    const { fault } = await world.ask(node, 'POST', '/audit-hub', { hub: hub.url, ...more })
    return fault === undefined ? undefined : String(fault)
  }
  const told = await look({})
  if (told !== undefined && !isExplained(hub.restores, told, audited))
    found.faults.push(`${node} finds at ${name}: ${told}`)
  if (!wasPutBack(hub, audited.sinceMs) && told === undefined) return
  const still = await look({ accept: true })
  if (still !== undefined) found.faults.push(`${node} still finds at ${name}: ${still}`)
  if (told !== undefined) found.accepted += 1
}

/** A payment that was signed before the hub was put back, or less than there was at the last look. */
export function isExplained(
  restores: readonly Restore[],
  told: string,
  { signed, sinceMs }: { signed: readonly Pick<Signed, 'transaction' | 'startedMs'>[]; sinceMs: number },
): boolean {
  const wasAfter = (ms: number) => restores.some(({ restoredMs }) => restoredMs >= ms)
  const lost = LOST.exec(told)?.[1]
  const one = signed.find(({ transaction }) => cidText(transaction) === lost)
  if (lost !== undefined) return one !== undefined && wasAfter(one.startedMs)
  return SHORT.test(told) && wasAfter(sinceMs)
}
