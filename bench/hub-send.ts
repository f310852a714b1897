/** Sends under capabilities: their rate beside plain signature checks, what grouping gains, and how long one takes. */
import { publicKey, sign, verify } from '../protocol/crypto.node.ts'
import {
  atLeast,
  atMost,
  type HubProcess,
  type Load,
  load,
  median,
  prepareSends,
  type Row,
  registerAgents,
  startHubProcess,
} from './hub-load.ts'

const RECIPIENTS = 16
const ROUNDS = 3
const SENDS = 3000
const SENDS_FEW = 1000
const SENDS_ALONE = 1000
const VERIFY_MS = 1000

/** Signature checks a second of one thread. */
function verificationsPerSecond(): number {
  const seed = new Uint8Array(32).fill(1)
  const key = publicKey(seed)
  const text = new Uint8Array(180)
  const signature = sign(seed, text)
  const start = performance.now()
  let count = 0
  while (performance.now() - start < VERIFY_MS) {
    for (let i = 0; i < 100; i++) verify(key, text, signature)
    count += 100
  }
  return count / ((performance.now() - start) / 1000)
}

async function rounds(hub: HubProcess, sends: number, clients: number): Promise<Load[]> {
  const recipients = await registerAgents(hub, RECIPIENTS)
  await load(hub.url, prepareSends(hub, recipients, 500), clients)
  const measured: Load[] = []
  for (let round = 0; round < ROUNDS; round++)
    measured.push(await load(hub.url, prepareSends(hub, recipients, sends), clients))
  return measured
}

async function withHub(groupMax: number | undefined, sends: number, clients: number): Promise<Load[]> {
  const hub = await startHubProcess(groupMax === undefined ? {} : { groupMax })
  try {
    return await rounds(hub, sends, clients)
  } finally {
    await hub.stop()
  }
}

export async function run(): Promise<Row[]> {
  const before = verificationsPerSecond()
  const many = await withHub(undefined, SENDS, 64)
  const few = await withHub(undefined, SENDS_FEW, 8)
  const alone = await withHub(1, SENDS_ALONE, 64)
  const verifications = median([before, verificationsPerSecond(), verificationsPerSecond()])
  const rate = median(many.map(one => one.perSecond))
  const failed = [...many, ...few, ...alone].reduce((sum, one) => sum + one.failed, 0)
  return [
    atLeast('kind-1 sends, 64 clients ÷ plain verifications', rate / verifications, '×', 0.38),
    atLeast('group commit ÷ one transaction each', rate / median(alone.map(one => one.perSecond)), '×', 3),
    atMost('p99 of a send, 64 clients', median(many.map(one => one.p99Ms)), 'ms', 200),
    atMost('p99 of a send, 8 clients', median(few.map(one => one.p99Ms)), 'ms', 40),
    atMost('sends refused', failed, '', 0),
    atLeast('kind-1 sends, 64 clients', rate, '/s', 0),
    atLeast('plain verifications, one thread', verifications, '/s', 0),
  ]
}

if (import.meta.main) console.table(await run())
