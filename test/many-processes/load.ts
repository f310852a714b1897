/**
 * Clients of a hub behind its proxy: each owns a mailbox, to which others send in order while it collects and confirms. They
 * try again where they are told to, as nodes do. On a line that says so they end, and tell what they were refused, and what
 * was lost, came twice or out of order.
 */
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { Agent, setGlobalDispatcher } from 'undici'
import { type Polled, type Reply, random, TestAgent } from '../../hub/testing/hub.ts'
import { sealedUnderCapability, sendEnvelope } from '../../hub/testing/mail.ts'
import { sha256 } from '../../protocol/crypto/engine.node.ts'
import { toBase64url, toHex } from '../../protocol/encoding/bytes.ts'

export type LoadTold = {
  /** Envelopes that were acknowledged. */
  sent: number
  /** How often it was tried again, by what was said. */
  again: Record<string, number>
  /** The longest time from a first try to its answer. */
  longestMs: number
  faults: string[]
}

const SENDERS = 2
const REST_MS = 100
const AGAIN_MS = 200
const GIVEN_UP_MS = 60_000
const WAIT_S = 5
const COLLECTED_AT_ONCE = 16
const MS_PER_SECOND = 1000
/** Said by whoever stands in the way for a while. */
const FOR_NOW = [429, 502, 503, 504]

const [, , url = '', aid = '', localAddress = ''] = process.argv
setGlobalDispatcher(new Agent({ connect: { localAddress } }))

let aheadMs = 0
let isOver = false
const clock = { now: () => Date.now() + aheadMs, advance: () => undefined }
const told: LoadTold = { sent: 0, again: {}, longestMs: 0, faults: [] }
const box = new TestAgent({ url, aid, clock })
type Sent = { from: number; number: number; id?: number; isConfirmed: boolean }
const letters = new Map<string, Sent>()
const nameOf = (bytes: Uint8Array) => toHex(sha256(bytes))

/** How long to wait before the same is tried again; undefined where it is refused for good. */
function waitAfter({ status, headers, json }: Reply): number | undefined {
  const floor = json['floor']
  if (status === 401 && typeof floor === 'number') {
    aheadMs = Math.max(aheadMs, floor + 1 - Date.now())
    return 0
  }
  if (!FOR_NOW.includes(status)) return undefined
  const seconds = Number(headers.get('Retry-After') ?? 0)
  return seconds > 0 ? seconds * MS_PER_SECOND : AGAIN_MS
}

/** Tries until it is answered, as a node does. */
async function until(what: string, attempt: () => Promise<Reply>): Promise<Reply> {
  const startedMs = performance.now()
  const passed = () => performance.now() - startedMs
  for (;;) {
    const reply = await attempt().catch(
      ({ cause }: Error & { cause?: { code?: string } }) => cause?.code ?? 'cut',
    )
    if (typeof reply !== 'string' && reply.status === 200) {
      told.longestMs = Math.max(told.longestMs, Math.round(passed()))
      return reply
    }
    const said =
      typeof reply === 'string' ? reply : `${reply.status} ${String(reply.json['reason'] ?? '')}`.trim()
    const waitMs = typeof reply === 'string' ? AGAIN_MS : waitAfter(reply)
    if (waitMs === undefined || passed() > GIVEN_UP_MS) throw new Error(`${what} was refused: ${said}`)
    told.again[said] = (told.again[said] ?? 0) + 1
    await pause(waitMs)
  }
}

async function send(from: number): Promise<void> {
  for (let number = 0; !isOver; number++) {
    const envelope = sealedUnderCapability(box, box.capability(), { contentBytes: 2048 })
    letters.set(nameOf(envelope.bytes), { from, number, isConfirmed: false })
    await until('a letter', () => sendEnvelope(box.target, envelope))
    told.sent += 1
    await pause(REST_MS)
  }
}

const latest = new Map<number, number>()
let idMax = 0

/** Notes one that came; undefined where it is not as it was sent. */
function noted({ id, envelope }: Polled['messages'][number]): Sent | undefined {
  const letter = letters.get(nameOf(Buffer.from(envelope, 'base64url')))
  if (letter === undefined) return void told.faults.push(`${id} was sent by nobody`)
  const { from, number } = letter
  if (letter.isConfirmed) told.faults.push(`${number} of ${from} was confirmed and came back`)
  if (letter.id !== undefined && letter.id !== id) told.faults.push(`${number} of ${from} came twice`)
  if (letter.id === undefined) {
    if (id <= idMax) told.faults.push(`the id of ${number} of ${from} does not rise`)
    if (number !== (latest.get(from) ?? -1) + 1) told.faults.push(`${number} of ${from} is out of order`)
    latest.set(from, number)
    idMax = id
  }
  letter.id = id
  return letter
}

async function collect(waitS: number): Promise<number> {
  const polled = await until('a poll', () =>
    box.call('relayPoll', { limit: COLLECTED_AT_ONCE }, { headers: { Prefer: `wait=${waitS}` } }),
  )
  const { messages } = polled.json as unknown as Polled
  const came = messages.flatMap(message => noted(message) ?? [])
  if (came.length === 0) return 0
  const items = came.map(({ id }) => ({
    id,
    handle: toBase64url(random(16)),
    dack: toBase64url(random(540)),
  }))
  await until('a confirmation', () => box.call('relayAck', { items }))
  for (const letter of came) letter.isConfirmed = true
  return came.length
}

async function work(): Promise<void> {
  const collecting = async () => {
    while (!isOver) await collect(WAIT_S)
  }
  const done = await Promise.allSettled([collecting(), ...Array.from({ length: SENDERS }, (_, n) => send(n))])
  for (const end of done) if (end.status === 'rejected') told.faults.push(String(end.reason))
  while ((await collect(0)) > 0);
  for (const { from, number, isConfirmed } of letters.values())
    if (!isConfirmed) told.faults.push(`${number} of ${from} is lost`)
}

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
console.log(box.aid)
await lines.next()
await until('the registration', () => box.register())
console.log('works')
const working = work()
await lines.next()
isOver = true
await working
console.log(JSON.stringify(told))
process.exit(0)
