/**
 * The guest gateway: visitors without keys talk to one agent each, and the hub delegates for them under its own key.
 * Attacker: any visitor; whoever sends mail to the hub and is not the handler of that task.
 */
import { equal, Malformed, toBase64url } from '../../../protocol/encoding/bytes.ts'
import { INTERACTION_ID_BYTES, type MessageBody, messagePayload } from '../../../protocol/mail/message.ts'
import { decodeOpen, holdsOpen } from '../../../protocol/mail/open-message.ts'
import { kinds } from '../../../protocol/mail/payload.ts'
import { PLACE_MAX } from '../../store/open-mail-port.ts'
import { StoreAway } from '../../store/port.ts'
import type { Agent, Agents } from '../agents.ts'
import type { HubContext } from '../context.ts'
import { ABANDONED_AFTER_MS, type GivenMessage, type OpenMail } from '../open-mail/open-mail.ts'
import type { GuestSession, GuestWord } from '../ports/guests.ts'
import { Refusal, refusalOf, withoutRoom } from '../refusal.ts'
import { ending, fateOf, heard, left, notEnded, notSent, opened, sending, without } from './session.ts'
import { type Visit, visitsOf } from './visits.ts'
import { type Encoded, endOf, readWords, type Said, signedWords, wordsOf } from './words.ts'

const MINUTE_MS = 60_000
const GUEST_SESSIONS_MAX = 2000
/** Of these, from one address. */
const OWNER_SESSIONS_MAX = 100
const GUEST_IDLE_MS = 30 * MINUTE_MS
const SWEEP_EVERY_MS = 5 * MINUTE_MS
/** A message has left by then, or not. */
const REPEAT_MS = 1000
const TOKEN_BYTES = 32
const ID_BYTES = 16
/** A handler is drawn among so many. */
const DRAWN_AMONG = 32
const WAITING_BYTES_MAX = 64 * 1024 * 1024
/** Bytes of one message to a visitor, whose files nobody shows. */
const WORDS_BYTES_MAX = 5 * 1024 * 1024
const HEARD_MAX = 10_000
/** Of each room for open mail, what visitors may fill. */
const GUEST_SHARE = 0.5

type Handler = { aid: string; name: string; quota: number }
export type Started = { session: GuestSession; name: string }
export type GuestSent = { outcome: 'sent' | 'limitReached' | 'ended'; remaining: number }
/** `isOver`: nothing that the visitor writes leaves any more. */
export type GuestHeard = { words: readonly GuestWord[]; isOver: boolean }

type Parts = { agents: Agents; openMail: OpenMail }

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
  async start(chosen: string | undefined, owner?: string): Promise<Started | undefined> {
    const { memory, random, now } = this.#context
    const found = chosen === undefined ? await this.#anyHandler() : await this.handler(chosen)
    if (found === undefined) return undefined
    const session = opened({
      ...{ id: toBase64url(random(TOKEN_BYTES)), task: toBase64url(random(INTERACTION_ID_BYTES)) },
      ...{ handler: found.aid, remaining: found.quota, owner, seenMs: now() },
    })
    const room = { max: GUEST_SESSIONS_MAX, ownerMax: OWNER_SESSIONS_MAX }
    if (await memory.guests.add(session, room)) return { session, name: found.name }
    await this.#endIdle(now())
    if (await memory.guests.add(session, room)) return { session, name: found.name }
    throw new Refusal('guestsFull')
  }

  /** The agent of an AID, if it takes visitors. */
  async handler(aid: string): Promise<Handler | undefined> {
    const found = await this.#parts.openMail.find(aid)
    if (found === undefined || found.box.guestQuota === 0) return undefined
    if (!(await this.#takesVisitors(aid))) return undefined
    return { aid, name: found.agent.row.name, quota: found.box.guestQuota }
  }

  /** Some agents that take visitors, drawn anew each time; all of them where they are few. */
  async handlers(): Promise<Handler[]> {
    const { store, now } = this.#context
    const takers = await store.guestTakers({
      place: this.#drawn(PLACE_MAX + 1),
      limit: DRAWN_AMONG,
      polledAfterMs: now() - ABANDONED_AFTER_MS,
    })
    return takers.map(({ aid, name, guestQuota }) => ({ aid, name, quota: guestQuota }))
  }

  /** What was drawn may have left meanwhile; then another one is. */
  async #anyHandler(): Promise<Handler | undefined> {
    for (let drawn = await this.handlers(); drawn.length > 0; ) {
      const [one] = drawn.splice(this.#drawn(drawn.length), 1)
      const found = one && (await this.handler(one.aid))
      if (found !== undefined) return found
    }
    return undefined
  }

  /** Whether the operator keeps visitors off an agent that it vouches for. */
  async #takesVisitors(aid: string): Promise<boolean> {
    return (await this.#context.store.official(aid))?.visitors !== false
  }

  /** A whole number below `count`. */
  #drawn(count: number): number {
    return new DataView(this.#context.random(4).buffer.slice(0)).getUint32(0) % count
  }

  /** Writes to the handler in the name of the hub; once, where the visitor calls a message the same again. */
  async send(id: string, said: Said, name?: string): Promise<GuestSent> {
    const nowMs = this.#context.now()
    const step = await this.#change(id, session =>
      fateOf(session, name, nowMs) === 'leaves' ? sending(session, name, nowMs) : session,
    )
    const fate = step === undefined ? 'ended' : fateOf(step.before, name, nowMs)
    if (step === undefined || fate === 'ended') return { outcome: 'ended', remaining: 0 }
    const { remaining, sent } = step.after
    if (fate === 'underWay')
      throw new Refusal('overloaded', { why: 'that message is still on its way', retryAfterMs: REPEAT_MS })
    if (fate !== 'leaves') return { outcome: fate === 'repeated' ? 'sent' : 'limitReached', remaining }
    try {
      await this.#write(step.after, sent, wordsOf(this.#context, sent === 1, said), GUEST_SHARE)
    } catch (error) {
      await this.#change(id, session => notSent(session, sent, name))
      throw error
    }
    if (name !== undefined) await this.#change(id, session => left(session, name))
    return { outcome: 'sent', remaining }
  }

  async #write(session: GuestSession, number: number, encoded: Encoded, share?: number): Promise<void> {
    const { files } = this.#parts.openMail
    const payload = await files.keep(signedWords(this.#context, session, number, encoded))
    const given = {
      to: session.handler,
      from: this.#context.identity.aid,
      kind: encoded.kind === kinds.delegate ? ('delegate' as const) : ('message' as const),
      interaction: session.task,
      payload,
      ofVisitor: true as const,
    }
    let isKept = false
    try {
      await this.#parts.openMail.send(given, { share })
    } catch (error) {
      // its row may come to be written yet; a file that no row names goes later
      isKept = error instanceof StoreAway
      throw error
    } finally {
      if (!isKept) await files.drop(payload)
    }
  }

  /** What came since the last time; where the visitor says how many words it has, what came after those. */
  async poll(id: string, has?: number): Promise<GuestHeard> {
    const step = await this.#change(id, held => without(held, has ?? held.fetched + held.waiting.length))
    if (step === undefined) return { words: [], isOver: true }
    const { before, after } = step
    return { words: has === undefined ? before.waiting : after.waiting, isOver: after.state === 'ended' }
  }

  /** Ends a task, or accepts the end that its handler asked for; tells whether both sides have ended it. */
  async end(id: string): Promise<{ accepted: boolean }> {
    const step = await this.#change(id, session => (session.state === 'ended' ? session : ending(session)))
    if (step === undefined || step.before.state === 'ended') return { accepted: false }
    const { before, after } = step
    try {
      if (after.sent > 0) await this.#write(after, after.sent, endOf(before, after.sent))
    } catch (error) {
      // whoever left is told nothing, and nobody waits for it
      if (refusalOf(error)?.code === 'recipientUnknown') return { accepted: false }
      await this.#change(id, session => notEnded(session, before))
      throw error
    }
    return { accepted: before.state === 'endRequested' }
  }

  /** Puts what becomes of a session in its place, and notes that the visitor is there; undefined for one that is over. */
  async #change(
    id: string,
    next: (session: GuestSession) => GuestSession,
  ): Promise<{ before: GuestSession; after: GuestSession } | undefined> {
    const { memory, now } = this.#context
    for (;;) {
      const before = await memory.guests.find(id)
      const nowMs = now()
      if (before === undefined || nowMs - before.seenMs > GUEST_IDLE_MS) return undefined
      const after = { ...next(before), seenMs: nowMs }
      if ((await memory.guests.replace(after, WAITING_BYTES_MAX)) === 'replaced') return { before, after }
    }
  }

  /** Takes mail for the hub itself: words of a handler in a task that the hub delegated to it. */
  async receive({ from, interaction, payload }: GivenMessage): Promise<string> {
    // nothing is read into memory for a visit that nobody has
    await this.#visitOf(from, interaction)
    const bytes = await this.#parts.openMail.files.whole(payload, WORDS_BYTES_MAX)
    const { word, body } = await this.#judged(from, interaction, bytes)
    const { memory, random } = this.#context
    for (let outcome = ''; outcome !== 'replaced'; ) {
      const session = await this.#visitOf(from, interaction)
      const next = heard(session, body.number, word)
      if (next === session) break
      outcome = await memory.guests.replace(next, WAITING_BYTES_MAX)
      if (outcome === 'full') throw withoutRoom('more words for visitors')
    }
    return toBase64url(random(ID_BYTES))
  }

  /** The visit of a task, which is its handler's alone. */
  async #visitOf(handler: string, task: string): Promise<GuestSession> {
    const session = await this.#context.memory.guests.findTask(task)
    if (session === undefined || session.handler !== handler) throw new Refusal('recipientUnknown')
    return session
  }

  async #judged(from: string, interaction: string, payload: Uint8Array) {
    const read = readMessage(payload)
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

  /** Ends the visits that end with this process. */
  async stop(): Promise<void> {
    await this.#sayEnded(await this.#context.memory.guests.endOwn())
  }

  /** Visits that nobody has used for long are over. */
  async #endIdle(nowMs: number): Promise<void> {
    await this.#sayEnded(await this.#context.memory.guests.endIdle(nowMs - GUEST_IDLE_MS))
  }

  /** Each handler reads that a visit is over. */
  async #sayEnded(gone: readonly GuestSession[]): Promise<void> {
    const talking = gone.filter(({ state, sent }) => state !== 'ended' && sent > 0)
    // a handler that left, or has no room, reads nothing, and holds up nobody
    await Promise.allSettled(
      talking.map(session => this.#write(session, session.sent + 1, endOf(session, session.sent + 1))),
    )
  }

  /** All sessions that are held, as their operator sees them. */
  visits(): Promise<Visit[]> {
    return visitsOf(this.#context.memory.guests)
  }

  /** Ends what nobody has used for long, and draws nobody any more who is gone; at most `limit` of those. */
  async sweep(limit: number): Promise<boolean> {
    const { store, now } = this.#context
    const nowMs = now()
    if (nowMs - this.#sweptMs < SWEEP_EVERY_MS) return false
    await this.#endIdle(nowMs)
    const { more } = await store.noteAway({ polledBeforeMs: nowMs - ABANDONED_AFTER_MS, limit })
    if (!more) this.#sweptMs = nowMs
    return more
  }
}

const isSignedNow = ({ log }: Agent, { kelSeq, kelHeadDigest }: MessageBody): boolean =>
  kelSeq === log.seq && equal(kelHeadDigest, log.headDigest)

function readMessage(payload: Uint8Array) {
  try {
    const open = decodeOpen(payload)
    if (open.body.number > HEARD_MAX) throw new Malformed(`a message number is above ${HEARD_MAX}`)
    return { open, word: readWords(messagePayload(open.body)) }
  } catch (error) {
    if (error instanceof Malformed) throw new Refusal('requestMalformed', { why: error.message })
    throw error
  }
}
