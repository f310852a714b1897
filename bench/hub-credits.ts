/** Payments beside sends, and the epoch of a hundred thousand accounts beside the hashing that it needs. */

import { join } from 'node:path'
import { Agents } from '../hub/core/agents.ts'
import { Credits } from '../hub/core/ledger/credits.ts'
import { HoldClock } from '../hub/core/ledger/hold-clock.ts'
import { Issuance } from '../hub/core/ledger/issuance.ts'
import { SupplyChain } from '../hub/core/supply/chain.ts'
import { BookKeeper } from '../hub/core/supply/keeper.ts'
import { Publication } from '../hub/core/supply/publication.ts'
import { liabilitySecret } from '../hub/core/supply/secret.ts'
import { epochsApart } from '../hub/epochs/apart.ts'
import { orderRunningHub } from '../hub/operator/socket.ts'
import { openCore } from '../hub/testing/core.ts'
import type { TestAgent } from '../hub/testing/hub.ts'
import { payment } from '../hub/testing/payments.ts'
import { aidText } from '../protocol/identity/aid.ts'
import { liabilityKey, liabilitySalt, sumLevels } from '../protocol/proof/liability.ts'
import {
  atLeast,
  atMost,
  type HubProcess,
  load,
  median,
  prepareSends,
  type Row,
  rawRequest,
  registerAgents,
  startHubProcess,
} from './lib/hub-load.ts'

const ROUNDS = 7
const REQUESTS = 2000
const CLIENTS = 64
const AGENTS = 16
const GRANT = 1_000_000
const ACCOUNTS = 100_000
const DAY_MS = 86_400_000
const START_MS = 1_800_000_000_000

function prepareSettles(hub: HubProcess, agents: TestAgent[], count: number): Uint8Array[] {
  return Array.from({ length: count }, (_, i) => {
    const from = agents[i % agents.length] as TestAgent
    const to = agents[(i + 1) % agents.length] as TestAgent
    const body = Buffer.from(JSON.stringify(payment(from, to, 1).request))
    return rawRequest(hub, 'POST', '/x402/settle', { 'Content-Type': 'application/json' }, body)
  })
}

async function settlesBesideSends(): Promise<Row[]> {
  const hub = await startHubProcess({ standard: true })
  const agents = await registerAgents(hub, AGENTS)
  for (const [at, { aid }] of agents.entries()) {
    const id = at.toString(16).padStart(32, '0')
    await orderRunningHub(hub.directory, {
      command: 'grant',
      aid,
      amount: GRANT,
      reason: 'a measurement',
      id,
    })
  }
  const ratios: number[] = []
  let failed = 0
  for (let round = -1; round < ROUNDS; round++) {
    const sends = await load(hub.url, prepareSends(hub, agents, REQUESTS), CLIENTS)
    const settles = await load(hub.url, prepareSettles(hub, agents, REQUESTS), CLIENTS)
    failed += sends.failed + settles.failed
    if (round >= 0) ratios.push(settles.perSecond / sends.perSecond)
  }
  await hub.stop()
  return [
    atLeast('settles ÷ sends, 64 clients', median(ratios), '×', 0.7),
    atMost('settles and sends refused', failed, '', 0),
  ]
}

async function epochBesideHashing(): Promise<Row[]> {
  const core = await openCore(START_MS)
  const supply = await SupplyChain.open(core.context)
  const issuance = new Issuance(core.context, supply)
  const secret = await liabilitySecret(core.context)
  const aids = Array.from({ length: ACCOUNTS }, () => aidText(Uint8Array.of(1, ...core.context.random(32))))
  await Promise.all(aids.map(aid => issuance.grant(aid, 1, core.context.random(16))))
  const started = performance.now()
  sumLevels(aids.map(aid => ({ key: liabilityKey(aid, liabilitySalt(secret, aid, 1)), sum: 1 })))
  const hashing = performance.now() - started
  core.clock.ms += 2 * DAY_MS
  const publication = new Publication(core.context.store, async () => secret)
  const credits = new Credits(core.context, {
    agents: new Agents(core.context),
    supply,
    clock: await HoldClock.open(core.context, 0),
  })
  let blocked = 0
  let last = performance.now()
  const watch = setInterval(() => {
    blocked = Math.max(blocked, performance.now() - last)
    last = performance.now()
  }, 1)
  const before = performance.now()
  const books = new BookKeeper(core.context, {
    supply,
    credits,
    issuance,
    publication,
    clocks: { note: () => undefined },
    makeEpoch: epochsApart(join(core.directory, 'hub.db')),
  })
  await books.turn()
  const took = performance.now() - before
  clearInterval(watch)
  const { epoch } = await publication.newestEpoch()
  await books.stop()
  await core.close()
  if (epoch.accounts !== ACCOUNTS) throw new Error('the epoch does not count all accounts')
  return [
    atMost('epoch of 100,000 accounts ÷ its hashing on one thread', took / hashing, '×', 1.5),
    atMost('main thread held up by it', blocked, 'ms', 50),
  ]
}

export const run = async (): Promise<Row[]> => [
  ...(await settlesBesideSends()),
  ...(await epochBesideHashing()),
]
