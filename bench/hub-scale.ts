/**
 * A large hub beside an empty one: agents and waiting envelopes are written straight into the store of the large one,
 * then sends, polls and directory buckets go through HTTP to both. A tenth of the full scale unless SVC_BENCH_FULL=1.
 */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestAgent } from '../hub/testing/hub.ts'
import { directoryBitsMax } from '../protocol/identity/directory.ts'
import { runAlone } from './lib/help.ts'
import {
  atMost,
  Connection,
  type HubProcess,
  load,
  median,
  prepareSends,
  type Row,
  rawRequest,
  registerAgents,
  startHubProcess,
} from './lib/hub-load.ts'
import { fillHub } from './lib/hub-store-items.ts'

const FULL = process.env['SVC_BENCH_FULL'] === '1'
const AGENTS = FULL ? 100_000 : 10_000
const ENVELOPES = FULL ? 1_000_000 : 100_000
const CONTENT_BYTES = 1024
/** As many as the large hub's narrowest bucket holds on average, so that both hubs answer with as much. */
const REGISTERED = Math.round(AGENTS / 2 ** directoryBitsMax(AGENTS))
const RECIPIENTS = 16
const ROUNDS = 5
const SENDS = 2000
const POLLS = 200
const POLLED = 32
const BUCKETS = 100

type Subject = { hub: HubProcess; agents: TestAgent[]; polled: TestAgent; bits: number }

async function start(directory?: string): Promise<Subject> {
  const hub = await startHubProcess(directory === undefined ? {} : { directory })
  const agents = await registerAgents(hub, REGISTERED)
  const polled = agents.at(-1) as TestAgent
  await load(hub.url, prepareSends(hub, [polled], POLLED, CONTENT_BYTES), 8)
  await load(hub.url, prepareSends(hub, agents.slice(0, RECIPIENTS), SENDS / 2), 64)
  return { hub, agents, polled, bits: directory === undefined ? 0 : directoryBitsMax(AGENTS) }
}

type Round = { send: number; poll: number; bucket: number }

/** Milliseconds of one send at 64 clients, one poll and one bucket. */
async function round({ hub, agents, polled, bits }: Subject): Promise<Round> {
  const { perSecond, failed } = await load(hub.url, prepareSends(hub, agents.slice(0, RECIPIENTS), SENDS), 64)
  if (failed > 0) throw new Error(`${failed} sends were refused`)
  const poll = await each(hub, POLLS, () => {
    const body = Buffer.from(JSON.stringify({ limit: POLLED }))
    return rawRequest(hub, 'POST', '/relay/poll', polled.sign('poll', 'POST', '/relay/poll', body), body)
  })
  const bucket = await each(hub, BUCKETS, i => {
    const prefix = Buffer.alloc(Math.ceil(bits / 8))
    if (bits > 0) prefix[0] = i % Math.min(256, 2 ** bits)
    if (bits > 0 && bits < 8) prefix[0] = ((prefix[0] as number) << (8 - bits)) & 255
    const body = Buffer.from(JSON.stringify({ prefix: prefix.toString('base64url'), bits }))
    return rawRequest(hub, 'POST', '/directory:bucket', { 'Content-Type': 'application/json' }, body)
  })
  return { send: 1000 / perSecond, poll, bucket }
}

async function each(hub: HubProcess, count: number, make: (i: number) => Uint8Array): Promise<number> {
  const connection = await Connection.open(hub.url)
  const times: number[] = []
  for (let i = 0; i < count; i++) {
    const request = make(i)
    const start = performance.now()
    const { status, body } = await connection.send(request)
    if (status !== 200) throw new Error(`answered ${status}: ${body.toString()}`)
    times.push(performance.now() - start)
  }
  connection.close()
  return median(times)
}

export async function run(): Promise<Row[]> {
  const directory = mkdtempSync(join(tmpdir(), 'svc-hub-scale-'))
  await fillHub(directory, { agents: AGENTS, envelopes: ENVELOPES })
  const empty = await start()
  const large = await start(directory)
  const ratios: Round[] = []
  for (let i = 0; i < ROUNDS; i++) {
    const [few, many] = [await round(empty), await round(large)]
    ratios.push({ send: many.send / few.send, poll: many.poll / few.poll, bucket: many.bucket / few.bucket })
  }
  await empty.hub.stop()
  await large.hub.stop()
  const scale = `${AGENTS} agents and ${ENVELOPES} envelopes${FULL ? '' : ' (a tenth)'} ÷ empty hub`
  return (['send', 'poll', 'bucket'] as const).map(name =>
    atMost(`${name}, ${scale}`, median(ratios.map(ratio => ratio[name])), '×', 2),
  )
}

if (import.meta.main) await runAlone(import.meta.filename, run)
