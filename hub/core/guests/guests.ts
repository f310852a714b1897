/**
 * The guest gateway: visitors without keys talk to one agent each, and the hub delegates for them under its own key.
 * Attacker: any visitor; whoever sends mail to the hub and is not the handler of that task.
 */
import { equal, Malformed, toBase64url } from '../../../protocol/encoding/bytes.ts'
import { INTERACTION_ID_BYTES, type MessageBody, messagePayload } from '../../../protocol/mail/message.ts'
import { decodeOpen, holdsOpen } from '../../../protocol/mail/open-message.ts'
import { kinds } from '../../../protocol/mail/payload.ts'
import type { Agent, Agents } from '../agents.ts'
import type { HubContext } from '../context.ts'
import type { Directory } from '../directory.ts'
import type { GivenMessage, OpenMail } from '../open-mail/open-mail.ts'
import type { GuestSession, GuestWord } from '../ports/guests.ts'
import { Refusal, withoutRoom } from '../refusal.ts'
import { endOf, readWords, type Said, signedWords, wordsOf } from './words.ts'

const MINUTE_MS = 60_000
const GUEST_SESSIONS_MAX = 2000
const GUEST_IDLE_MS = 30 * MINUTE_MS
const SWEEP_EVERY_MS = 5 * MINUTE_MS
const TOKEN_BYTES = 32
const ID_BYTES = 16
const PAGE = 200
const WAITING_MAX = 200
const WAITING_BYTES_MAX = 1024 * 1024
const HEARD_MAX = 10_000

export type Started = { session: GuestSession; name: string }
export type GuestSent = { outcome: 'sent' | 'limitReached' | 'ended'; remaining: number }

type Parts = { agents: Agents; openMail: OpenMail; directory: Directory }

export class Guests {
  /** Whether the operator lets visitors in. */
  isOpen = false
  readonly #context: HubContext
  readonly #parts: Parts
  #sweptMs = 0

  constructor(context: HubContext, parts: Parts) {
    this.#context = context
    this.#parts = parts
  }

  /** A session with the chosen agent, or any that takes visitors; undefined where none does. */
  async start(chosen: string | undefined): Promise<Started | undefined> {
    const { memory, random, now } = this.#context
    const found = await this.#handler(chosen)
    if (found === undefined) return undefined
    const session: GuestSession = {
      ...{ id: toBase64url(random(TOKEN_BYTES)), handler: found.aid, remaining: found.quota },
      ...{ task: toBase64url(random(INTERACTION_ID_BYTES)), sent: 0, heard: new Set(), waiting: [] },
      ...{ waitingBytes: 0, endNumber: undefined, state: 'open', seenMs: now() },
    }
    await memory.guests.endIdle(now() - GUEST_IDLE_MS)
    if (!(await memory.guests.add(session, GUEST_SESSIONS_MAX))) throw new Refusal('guestsFull')
    return { session, name: found.name }
  }

  async #handler(chosen: string | undefined) {
    const { openMail } = this.#parts
    if (chosen === undefined) return await this.#anyHandler()
    const found = await openMail.find(chosen)
    if (found === undefined || found.box.guestQuota === 0) return undefined
    const { aid, name } = found.agent.row
    return { aid, name, quota: found.box.guestQuota }
  }

  async #anyHandler() {
    const { openMail, directory } = this.#parts
    const takers: { aid: string; name: string; quota: number }[] = []
    for (let after: string | undefined = ''; after !== undefined; ) {
      const page = await directory.list(after, PAGE, { caps: undefined, open: true })
      for (const { number, aid, name } of page.rows) {
        const box = await this.#context.store.openMailbox(number)
        if (box === undefined || !box.listed || openMail.liveness(box) === 'abandoned') continue
        if (box.guestQuota > 0) takers.push({ aid, name, quota: box.guestQuota })
      }
      after = page.next
    }
    const drawn = new DataView(this.#context.random(4).buffer.slice(0)).getUint32(0)
    return takers[drawn % Math.max(1, takers.length)]
  }

  /** Writes to the handler in the name of the hub. */
  async send(id: string, said: Said): Promise<GuestSent> {
    const session = await this.#find(id)
    if (session === undefined || session.state === 'ended') return { outcome: 'ended', remaining: 0 }
    if (session.remaining === 0) return { outcome: 'limitReached', remaining: 0 }
    session.remaining--
    try {
      await this.#write(session, wordsOf(this.#context, session.sent === 0, said), said.files)
    } catch (error) {
      session.remaining++
      throw error
    }
    return { outcome: 'sent', remaining: session.remaining }
  }

  async #write(session: GuestSession, encoded: ReturnType<typeof endOf>, files: Said['files'] = []) {
    const payload = signedWords(this.#context, session, encoded, files)
    const number = ++session.sent
    const sending = this.#parts.openMail.send({
      to: session.handler,
      from: this.#context.identity.aid,
      kind: encoded.kind === kinds.delegate ? 'delegate' : 'message',
      interaction: session.task,
      payload,
    })
    await sending.catch(error => {
      if (session.sent === number) session.sent--
      throw error
    })
  }

  /** What came since the last time. */
  async poll(id: string): Promise<GuestWord[]> {
    const session = await this.#find(id)
    if (session === undefined) return []
    const words = session.waiting
    Object.assign(session, { waiting: [], waitingBytes: 0 })
    return words
  }

  /** Ends a task, or accepts the end that its handler asked for; tells whether both sides have ended it. */
  async end(id: string): Promise<{ accepted: boolean }> {
    const session = await this.#find(id)
    if (session === undefined || session.state === 'ended') return { accepted: false }
    const { state } = session
    const last = endOf(session)
    session.state = 'ended'
    try {
      if (session.sent > 0) await this.#write(session, last)
    } catch (error) {
      session.state = state
      throw error
    }
    return { accepted: state === 'endRequested' }
  }

  async #find(id: string): Promise<GuestSession | undefined> {
    const session = await this.#context.memory.guests.find(id)
    const nowMs = this.#context.now()
    if (session === undefined || nowMs - session.seenMs > GUEST_IDLE_MS) return undefined
    session.seenMs = nowMs
    return session
  }

  /** Takes mail for the hub itself: words of a handler in a task that the hub delegated to it. */
  async receive({ from, interaction, payload }: GivenMessage): Promise<string> {
    const { word, body } = await this.#judged(from, interaction, payload)
    const session = await this.#context.memory.guests.findTask(interaction)
    if (session === undefined || session.handler !== from) throw new Refusal('recipientUnknown')
    const isNew = body.number === 0 || !session.heard.has(body.number)
    if (isNew) hear(session, body.number, word)
    return toBase64url(this.#context.random(ID_BYTES))
  }

  async #judged(from: string, interaction: string, payload: Uint8Array) {
    const read = opened(payload)
    const { body } = read.open
    const isNamed = body.interactionId !== undefined && toBase64url(body.interactionId) === interaction
    if (body.from !== from || body.to !== this.#context.identity.aid || !isNamed)
      throw new Refusal('requestMalformed', { why: 'the message names another sender, recipient or task' })
    const agent = await this.#parts.agents.findRegistered(from)
    if (agent === undefined) throw new Refusal('recipientUnknown')
    if (!isSignedNow(agent, body) || !holdsOpen(agent.log.publicKey, read.open))
      throw new Refusal('signatureInvalid')
    return { word: read.word, body }
  }

  /** Ends what nobody has used for long; nothing is left for another turn. */
  async sweep(): Promise<boolean> {
    const nowMs = this.#context.now()
    if (nowMs - this.#sweptMs < SWEEP_EVERY_MS) return false
    this.#sweptMs = nowMs
    await this.#context.memory.guests.endIdle(nowMs - GUEST_IDLE_MS)
    return false
  }
}

const isSignedNow = ({ log }: Agent, { kelSeq, kelHeadDigest }: MessageBody): boolean =>
  kelSeq === log.seq && equal(kelHeadDigest, log.headDigest)

function opened(payload: Uint8Array) {
  try {
    const open = decodeOpen(payload)
    if (open.body.number > HEARD_MAX) throw new Malformed(`a message number is above ${HEARD_MAX}`)
    return { open, word: readWords(messagePayload(open.body)) }
  } catch (error) {
    if (error instanceof Malformed) throw new Refusal('requestMalformed', { why: error.message })
    throw error
  }
}

function hear(session: GuestSession, number: number, word: GuestWord | undefined): void {
  const bytes = word?.body.length ?? 0
  const isFull = session.waiting.length >= WAITING_MAX || session.waitingBytes + bytes > WAITING_BYTES_MAX
  if (isFull) throw withoutRoom('more words for this visitor')
  if (number > 0) session.heard.add(number)
  if (word === undefined) return
  session.waiting.push(word)
  session.waitingBytes += bytes
  if (word.end === 'accepted') session.state = 'ended'
  else if (word.end === 'requested' && session.state === 'open')
    Object.assign(session, { state: 'endRequested', endNumber: number })
}
