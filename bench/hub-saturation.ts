/**
 * The built hub with its default limits under everything at once: 200 agents that register, open sessions, make first
 * contacts, send under capabilities (1 to 64 KiB), hold polls, ack and ask; then silence, then the same again. A minute of
 * load each time, eight with SVC_BENCH_FULL=1.
 */
import { mkdtempSync, readdirSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { orderRunningHub } from '../hub/operator/socket.ts'
import {
  callRoute,
  type Reply,
  random,
  TestAgent,
  type TestCapability,
  type TestSession,
} from '../hub/testing/hub.ts'
import { sealedForStranger, sealedUnderCapability, sendEnvelope } from '../hub/testing/mail.ts'
import { toBase64url } from '../protocol/encoding/bytes.ts'
import { runAlone } from './lib/help.ts'
import { atMost, type HubProcess, type Row, registerAgents, startHubProcess } from './lib/hub-load.ts'
import { percentile } from './lib/node-world.ts'

const MINUTE_MS = 60_000
const LOAD_MINUTES = process.env['SVC_BENCH_FULL'] === '1' ? 8 : 1
const AGENTS = 200
/** So many of them meet others for the first time; the others hold polls. */
const STRANGERS = 20
const SENDERS = 24
const KIB = 1024
const USES = 30
const EVERY_MS = { contact: 400, register: 2000, status: 50, refused: 5000 }
const NO_SESSION = 'POST /relay/session'
const DACK_BYTES = 540
const HELD_SECONDS = 20
const UNTOLD = Number.POSITIVE_INFINITY

const pause = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))
const any = <T>(list: readonly T[]): T => list[Math.floor(Math.random() * list.length)] as T
/** As from an address of its own. */
const addressOf = (n: number) => ({ 'X-Forwarded-For': `10.0.${n >> 8}.${n & 255}` })

/** Times of each route in ms, and what was refused. */
class Record {
  readonly times = new Map<string, number[]>()
  readonly refused = new Map<string, number>()

  async of(route: string, ask: () => Promise<Reply>): Promise<Reply> {
    const started = performance.now()
    const reply = await ask()
    const times = this.times.get(route) ?? []
    times.push(performance.now() - started)
    this.times.set(route, times)
    if (reply.status !== 200) {
      const why = `${route} ${String(reply.json['reason'])}`
      this.refused.set(why, (this.refused.get(why) ?? 0) + 1)
    }
    return reply
  }

  rows(when: string): Row[] {
    return [...this.times]
      .sort()
      .flatMap(([route, times]) =>
        [0.5, 0.95, 0.99].map(share =>
          atMost(
            `${when}: ${route}, ${times.length} calls, p${share * 100}`,
            percentile(times, share),
            'ms',
            UNTOLD,
          ),
        ),
      )
  }
}

type Load = { hub: HubProcess; record: Record; until: number; strangers: TestAgent[]; readers: TestAgent[] }
const isOver = ({ until }: Load) => performance.now() > until

/** Holds a poll and acks what it brings, one call after the other. */
async function read(load: Load, reader: TestAgent, n: number): Promise<void> {
  const { record } = load
  const from = addressOf(n)
  while (!isOver(load)) {
    const headers = { ...from, Prefer: `wait=${HELD_SECONDS}` }
    const signal = AbortSignal.timeout((HELD_SECONDS + 30) * 1000)
    const reply = await reader.call('relayPoll', { limit: 32 }, { headers, signal })
    const messages = (reply.json['messages'] ?? []) as { id: number }[]
    if (messages.length === 0) continue
    const items = messages.map(({ id }) => ({
      id,
      handle: toBase64url(random(16)),
      dack: toBase64url(random(DACK_BYTES)),
    }))
    await record.of('POST /relay/ack', () => reader.call('relayAck', { items }, { headers: from }))
  }
}

/** Sends under capabilities, and asks about some of what went. */
async function send(load: Load, n: number): Promise<void> {
  const { hub, record, readers } = load
  const stock = new Map<TestAgent, { capability: TestCapability; uses: number }>()
  let askedAt = 0
  while (!isOver(load)) {
    const to = any(readers)
    const held = stock.get(to) ?? { capability: to.capability(), uses: 0 }
    stock.set(
      to,
      held.uses + 1 >= USES ? { capability: to.capability(), uses: 0 } : { ...held, uses: held.uses + 1 },
    )
    const contentBytes = KIB * 2 ** Math.floor(Math.random() * 7) - 300
    const envelope = sealedUnderCapability(to, held.capability, { contentBytes })
    const { json } = await record.of('POST /relay/send', () =>
      sendEnvelope(hub, envelope, undefined, addressOf(n)),
    )
    if (performance.now() - askedAt < EVERY_MS.status * SENDERS || typeof json['rid'] !== 'string') continue
    askedAt = performance.now()
    const items = [{ rid: json['rid'], handle: toBase64url(random(16)) }]
    await record.of('POST /relay/status', () =>
      callRoute(hub, 'relayStatus', { items }, { headers: addressOf(n) }),
    )
  }
}

/** Meets others for the first time, under sessions. */
async function meet(load: Load, stranger: TestAgent, n: number): Promise<void> {
  const { hub, record, readers } = load
  let session: { held: TestSession; uses: number } | undefined
  while (!isOver(load)) {
    if (session === undefined || session.uses >= session.held.quota) {
      const started = performance.now()
      const opened = await stranger.openSession().catch(() => undefined)
      if (opened === undefined) {
        record.refused.set(NO_SESSION, (record.refused.get(NO_SESSION) ?? 0) + 1)
        await pause(EVERY_MS.refused)
        continue
      }
      session = { held: opened, uses: 0 }
      const times = record.times.get('POST /relay/session') ?? []
      record.times.set('POST /relay/session', [...times, performance.now() - started])
    }
    const { held } = session
    session.uses += 1
    const envelope = sealedForStranger(any(readers), { contentBytes: 4 * KIB })
    await record.of('POST /relay/send, first contact', () => sendEnvelope(hub, envelope, held, addressOf(n)))
    await pause(EVERY_MS.contact)
  }
}

/** New agents join. */
async function newcomers(load: Load): Promise<void> {
  const { hub, record } = load
  while (!isOver(load)) {
    const agent = new TestAgent(hub)
    await orderRunningHub(hub.directory, { command: 'admit', aid: agent.aid })
    await record.of('POST /register', () => agent.register())
    await pause(EVERY_MS.register)
  }
}

const bytesIn = (folder: string): number =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(file => file.isFile())
    .reduce(
      (sum, { parentPath, name }) =>
        sum + (statSync(join(parentPath, name), { throwIfNoEntry: false })?.size ?? 0),
      0,
    )

type Minute = { memory: number; disk: number; log: number }

/** Memory, disk and log by the minute while something runs. */
async function byMinute(hub: HubProcess, log: string, minutes: number): Promise<Minute[]> {
  const seen: Minute[] = []
  for (let minute = 0; minute < minutes; minute++) {
    await pause(MINUTE_MS)
    seen.push({
      memory: hub.rssMib(),
      disk: bytesIn(hub.directory) / KIB / KIB,
      log: statSync(log).size / KIB,
    })
  }
  return seen
}

async function loaded(given: Pick<Load, 'hub' | 'strangers' | 'readers'>, log: string) {
  const load: Load = { ...given, record: new Record(), until: performance.now() + LOAD_MINUTES * MINUTE_MS }
  const [minutes] = await Promise.all([
    byMinute(given.hub, log, LOAD_MINUTES),
    ...load.readers.map((reader, n) => read(load, reader, n)),
    ...Array.from({ length: SENDERS }, (_, n) => send(load, 1000 + n)),
    ...load.strangers.map((stranger, n) => meet(load, stranger, 2000 + n)),
    newcomers(load),
  ])
  return { record: load.record, minutes }
}

const shown = (when: string, minutes: readonly Minute[]): Row[] =>
  minutes.flatMap(({ memory, disk, log }, n) => [
    atMost(`${when}, minute ${n + 1}: memory`, memory, 'MiB', UNTOLD),
    atMost(`${when}, minute ${n + 1}: disk`, disk, 'MiB', UNTOLD),
    atMost(`${when}, minute ${n + 1}: log`, log, 'KiB', UNTOLD),
  ])

const refusedIn = ({ refused }: Record): Row[] =>
  [...refused].map(([why, count]) => atMost(`refused: ${why}`, count, '', UNTOLD))

export async function run(): Promise<Row[]> {
  const log = join(mkdtempSync(join(tmpdir(), 'svc-hub-log-')), 'log')
  const hub = await startHubProcess({ built: true, log })
  try {
    const agents = await registerAgents(hub, AGENTS)
    const given = { hub, strangers: agents.slice(0, STRANGERS), readers: agents.slice(STRANGERS) }
    await pause(MINUTE_MS / 10)
    const before = hub.rssMib()
    const first = await loaded(given, log)
    const calm = await byMinute(hub, log, 1)
    const second = await loaded(given, log)
    const calmAgain = await byMinute(hub, log, 1)
    const after = (minutes: readonly Minute[]) => (minutes.at(-1)?.memory ?? Number.NaN) - before
    return [
      ...first.record.rows('first load'),
      ...refusedIn(first.record),
      ...shown('first load', first.minutes),
      ...shown('silence', calm),
      ...second.record.rows('second load'),
      ...refusedIn(second.record),
      ...shown('second load', second.minutes),
      ...shown('silence again', calmAgain),
      atMost('growth after the first silence', after(calm), 'MiB', 20),
      atMost('growth after the second silence', after(calmAgain), 'MiB', 20),
    ]
  } finally {
    await hub.stop()
  }
}

if (import.meta.main) await runAlone(import.meta.filename, run)
