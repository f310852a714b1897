/**
 * Collecting mail: a held poll, each envelope opened and judged in id order, then acked with its delivery
 * confirmation. What is acked is stored; what is not acked comes again and is recognized.
 */

import { setImmediate as immediate } from 'node:timers/promises'
import { equal, Malformed } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import type { VerifiedKel } from '../../protocol/identity/kel.ts'
import { witnessedAt } from '../../protocol/identity/kel-witness.ts'
import { KeyStateNotice, noticeAgrees, noticeIsOf } from '../../protocol/identity/keyset.ts'
import { Dack, type DackCode, dackCodes, dackHandle, sealDack } from '../../protocol/mail/dack.ts'
import { type MessageBody, messageDigest } from '../../protocol/mail/message.ts'
import { Damaged, NotOpened, type OpenedMessage, timesFit } from '../../protocol/mail/open.ts'
import { hasTakenOver, noteTwin } from '../chain/place.ts'
import type { Context } from '../context.ts'
import { hubTime } from '../hubs/clocks.ts'
import { describe, isOwnFailure } from '../hubs/failures.ts'
import { type AckItem, type HubClient, HubStopped, type PolledEnvelope } from '../hubs/hub.ts'
import { isKeptOut } from '../hubs/kept-out.ts'
import { learnHubKey } from '../hubs/log.ts'
import { faultPoint } from '../platform/faults.ts'
import { Loop } from '../platform/loop.ts'
import { count } from '../store/counters.ts'
import { doubtAtHub } from '../store/outbox.ts'
import { openPolled } from './opening.ts'
import { earlierVerdict, foresee, type Received, takeIn } from './receive.ts'
import { keepRetired } from './retired.ts'
import { TwinWatch } from './twin-watch.ts'

/** So often is an envelope fetched whose bytes are not those that the hub took. */
const DAMAGED_MAX = 3
const DAMAGED_KEPT = 1000
/** A hub that hangs is noticed when it has not answered by then: with the slack of a poll within 30 s. */
export const WAIT_SECONDS = 25
/** No pause between two polls is as long as a copy of this identity has to wait in peace, whatever the hub does. */
const PAUSE_SHARE = 0.8
const IDLE_MS = 60_000
const DACK_NONCE_BYTES = 12
/** Pause between polls while another node of this identity takes them over: shorter than it has to wait in peace. */
const TWIN_PAUSE_SHARE = 0.5
const CAME_SECOND =
  'this identity already runs on another machine, so this node signs nothing any more; stop one of the two, then start the other one anew'
/** A message accepted this long after the successor event was witnessed may still carry the older key. */
const RETIRED_GRACE_MS = 5 * 60_000

/** Envelopes of a drain, and whether the hub held its poll. */
export type Drained = { taken: number; held: boolean }

export class Relay {
  readonly #ctx: Context
  readonly #loop: Loop
  readonly #twins: TwinWatch
  /** Polls in a row that the hub did not answer as it should. */
  #unanswered = 0
  /** Envelopes that came damaged, by their number at the hub, and how often. */
  readonly #damaged = new Map<number, number>()

  constructor(ctx: Context) {
    this.#ctx = ctx
    this.#twins = new TwinWatch(ctx.timings.pollSettledMs, hasTakenOver(ctx.store))
    this.#loop = new Loop({
      name: 'relay',
      waker: ctx.wakers.relay,
      log: ctx.log,
      restFirstMs: ctx.timings.backoffFirstMs,
      mayRun: () => ctx.hub.home !== undefined && ctx.hub.home.stopped === undefined,
      turn: () => this.#turn(),
    })
  }

  start(): void {
    this.#loop.start()
  }

  async stop(): Promise<void> {
    await this.#loop.stop()
  }

  async #turn(): Promise<number> {
    const hub = this.#ctx.hub.home
    if (hub === undefined) return IDLE_MS
    try {
      const pauseMs = await this.#watched(hub)
      this.#unanswered = 0
      this.#noteContact(undefined)
      return pauseMs
    } catch (error) {
      // what this machine could not keep is collected again; the hub did what it should
      if (isOwnFailure(error) || this.#loop.signal.aborted) throw error
      return await this.#noteUnanswered(hub, error)
    }
  }

  async #noteUnanswered(hub: HubClient, error: unknown): Promise<number> {
    this.#unanswered += 1
    this.#noteContact(describe(error), await isKeptOut(error, hub, this.#ctx.identity.log))
    if (!(error instanceof HubStopped)) this.#ctx.log.debug({ reason: describe(error) }, 'poll failed')
    const { backoffFirstMs, pollSettledMs } = this.#ctx.timings
    const backoff = Math.min(backoffFirstMs * 2 ** (this.#unanswered - 1), pollSettledMs * PAUSE_SHARE)
    return backoff * (0.5 + this.#fraction() * 0.5)
  }

  /** Whatever the hub has become: a round finds out, and repeats until it is there again. */
  #noteContact(error: string | undefined, keptOut = false): void {
    if (!this.#ctx.hub.noteContact(error, keptOut)) return
    // it may come back from a backup
    this.#ctx.store.attempt(() => doubtAtHub(this.#ctx.store, this.#ctx.now()))
    this.#ctx.wakers.rounds.wake()
  }

  /** After a poll that a busy hub answered at once instead of holding it. */
  #unheldPauseMs(): number {
    return this.#ctx.timings.pollSettledMs * PAUSE_SHARE * (0.5 + this.#fraction() / 2)
  }

  #fraction(): number {
    return (this.#ctx.random(1)[0] as number) / 255
  }

  /** One drain, and what it shows of another node with this identity; when the next one is due. */
  async #watched(hub: HubClient): Promise<number> {
    // Whether the hub answers is known at once, not after the poll that it holds.
    if (this.#ctx.hub.state.state !== 'online') {
      await this.drain(hub, 0)
      this.#noteContact(undefined)
    }
    const started = this.#ctx.now()
    const { taken, held } = await this.drain(hub, WAIT_SECONDS)
    if (!held && taken === 0) return this.#unheldPauseMs()
    const verdict = this.#twins.note({
      askedMs: WAIT_SECONDS * 1000,
      heldMs: this.#ctx.now() - started,
      mail: taken > 0 || !held,
    })
    if (verdict === 'came_second') {
      this.#ctx.log.error({ reason: CAME_SECOND }, 'stopped talking to the hub, and signs no more')
      this.#ctx.hub.oldCopy = CAME_SECOND
      this.#ctx.hub.halt(hub, CAME_SECOND)
    }
    const twinSeen = verdict === 'was_first'
    // the other one may have taken over, which the hub then shows
    if (twinSeen && !this.#ctx.hub.twinSeen) this.#ctx.wakers.rounds.wake()
    this.#ctx.hub.twinSeen = twinSeen
    if (twinSeen) noteTwin(this.#ctx.store, this.#ctx.now())
    return twinSeen && this.#twins.isSettled ? this.#ctx.timings.pollSettledMs * TWIN_PAUSE_SHARE : 0
  }

  /** Works through one drain of the mailbox: first answer held up to `waitSeconds`, then until nothing is left. */
  async drain(hub: HubClient, waitSeconds: number): Promise<Drained> {
    let taken = 0
    let held = false
    let afterId: number | undefined
    for (;;) {
      using reply = await hub.poll({
        waitSeconds: afterId === undefined ? waitSeconds : 0,
        ...present({ afterId }),
        signal: this.#loop.signal,
      })
      held ||= reply.held
      if (reply.notice !== undefined) await this.#checkNotice(hub, reply.notice)
      const acks: AckItem[] = []
      for (const polled of reply.envelopes) {
        const ack = await this.#take(hub, polled)
        if (ack !== undefined) acks.push(ack)
        afterId = Math.max(afterId ?? 0, polled.id)
        taken += 1
      }
      faultPoint('node.receive.before-ack')
      await hub.ack(acks)
      faultPoint('node.receive.after-ack')
      if (!reply.more) return { taken, held }
    }
  }

  /** The hub's signed word on our own key state; a head that is not ours is shown as a warning. */
  async #checkNotice(hub: HubClient, encoded: Uint8Array): Promise<void> {
    const { identity, store, log } = this.#ctx
    try {
      const notice = KeyStateNotice.decode(encoded)
      await learnHubKey(hub, notice.body.hubSeq)
      // what it did not sign says nothing of it: a bit was another one on its way
      if (!noticeIsOf(notice, hub.identity.log)) return
      if (notice.body.seq !== identity.log.seq || noticeAgrees(notice, identity.log, hub.identity.log)) return
      count(store, 'notice_differs')
      log.warn({ seq: notice.body.seq }, 'the hub shows another key state for this identity')
    } catch (error) {
      if (!(error instanceof Malformed)) throw error
    }
  }

  /**
   * One envelope from bytes to its ack; whatever is wrong with it, the next one is not held up. One that was damaged on its
   * way has none at first, and comes again.
   */
  async #take(hub: HubClient, polled: PolledEnvelope): Promise<AckItem | undefined> {
    let opened: OpenedMessage | undefined
    try {
      const found = await openPolled(this.#ctx, polled)
      opened = found.opened
      const code = await this.#judge(hub, opened, found.log, polled.acceptedAtMs)
      this.#damaged.delete(polled.id)
      // whoever follows this node hears of the message before its confirmation is made
      await immediate()
      return this.#confirm(polled.id, opened, code)
    } catch (error) {
      if (error instanceof NotOpened) return this.#confirmUnopened(polled.id, error)
      if (!(error instanceof Malformed)) throw error
      if (error instanceof Damaged && this.#comesAgain(polled.id)) return undefined
      count(this.#ctx.store, 'malformed')
      this.#ctx.log.info({ id: polled.id, reason: error.message }, 'envelope refused')
      return { id: polled.id }
    } finally {
      await opened?.close()
    }
  }

  #comesAgain(id: number): boolean {
    const times = (this.#damaged.get(id) ?? 0) + 1
    // a hub may name as many as it likes
    if (this.#damaged.size >= DAMAGED_KEPT) this.#damaged.clear()
    if (times >= DAMAGED_MAX) this.#damaged.delete(id)
    else this.#damaged.set(id, times)
    return times < DAMAGED_MAX
  }

  async #judge(
    hub: HubClient,
    opened: OpenedMessage,
    log: VerifiedKel,
    acceptedAt: number,
  ): Promise<DackCode> {
    const { body, digest, messageDigest, envelope } = opened
    const earlier = earlierVerdict(this.#ctx, body, messageDigest)
    if (earlier === dackCodes.stored && body.keySet !== undefined) this.#ctx.peers.learn(log, body.keySet)
    if (earlier !== undefined) return earlier
    if (!timesFit(envelope.expMs, body.tsMs, hubTime(hub))) return dackCodes.times
    if (body.kelSeq < log.seq && !isTimely(hub, log, body.kelSeq, acceptedAt)) {
      count(this.#ctx.store, 'retired_key')
      keepRetired(this.#ctx, body, messageDigest)
      return dackCodes.retiredKey
    }
    if (body.kelSeq === log.seq && !equal(body.kelHeadDigest, log.headDigest)) {
      count(this.#ctx.store, 'peer_forks')
      return dackCodes.retiredKey
    }
    this.#ctx.log.debug({ kind: body.kind, digest: Buffer.from(digest).toString('hex') }, 'message')
    const received: Received = {
      body,
      digest: messageDigest,
      expMs: envelope.expMs,
      wire: hub.identity.wire,
      access: envelope.access,
      log,
      keySet: body.keySet,
    }
    return takeWhole(this.#ctx, opened, received)
  }

  #confirm(id: number, opened: OpenedMessage, code: DackCode): AckItem {
    return this.#ackWith(id, opened.body, opened.digest, opened.messageDigest, code)
  }

  /** An envelope that decrypts but whose sender's key is not known here is confirmed, so that it comes again with it. */
  #confirmUnopened(id: number, error: NotOpened): AckItem {
    count(this.#ctx.store, error.code)
    const { body } = error
    if (body === undefined || error.code === 'wrong_recipient') return { id }
    const code = error.code === 'sender_unknown' ? dackCodes.retiredKey : dackCodes.malformed
    return this.#ackWith(id, body, error.envelopeDigest, messageDigest(body), code)
  }

  #ackWith(
    id: number,
    body: MessageBody,
    digest: Uint8Array,
    ofMessage: Uint8Array,
    code: DackCode,
  ): AckItem {
    const { handleSecret } = body
    if (handleSecret === undefined) return { id }
    const { identity, now, random } = this.#ctx
    const dack = Dack.sign(identity.seed, {
      envelopeDigest: digest,
      messageId: body.messageId,
      messageDigest: ofMessage,
      recipient: identity.aid,
      kelSeq: identity.log.seq,
      tsMs: now(),
      code,
    })
    return {
      id,
      handle: dackHandle(handleSecret),
      dack: sealDack(handleSecret, random(DACK_NONCE_BYTES), dack),
    }
  }
}

/** Judges the head first: what is refused leaves no file. A message without files is judged once, with its content. */
async function takeWhole(ctx: Context, opened: OpenedMessage, received: Received): Promise<DackCode> {
  if (received.body.attachments.length > 0 && foresee(ctx, received) !== dackCodes.stored)
    return takeIn(ctx, received)
  try {
    return await ctx.attachments.receive(opened, ctx.store, () => takeIn(ctx, received))
  } catch (error) {
    if (error instanceof Malformed && !(error instanceof Damaged)) return dackCodes.malformed
    throw error
  }
}

/** Whether our hub took the message before, or shortly after, it witnessed the event that retired the key. */
function isTimely(hub: HubClient, log: VerifiedKel, kelSeq: number, acceptedAt: number): boolean {
  const successor = witnessedAt(log, kelSeq + 1, hub.identity.log)
  return successor !== undefined && acceptedAt < successor + RETIRED_GRACE_MS
}
