/**
 * The way of a message out of this node: sealed at every attempt, sent in the order of its interaction, watched until
 * its delivery is proven, refused or past its deadline. Nothing is ever lost without a state that says so.
 */

import { Refused } from '../../protocol/contract/client.ts'
import { toBase64url } from '../../protocol/encoding/bytes.ts'
import { keyAt } from '../../protocol/identity/kel.ts'
import { type Dack, Dack as DackCodec, dackCodes, dackHandle, openDack } from '../../protocol/mail/dack.ts'
import type { Context } from '../context.ts'
import { confirmationReasons, describe, neverCounted } from '../hubs/failures.ts'
import { type HubLine, HubStopped } from '../hubs/hub.ts'
import { Waker } from '../platform/waker.ts'
import {
  askAgainAt,
  countCredential,
  countResending,
  dueEntries,
  entriesToAskAbout,
  markAtHub,
  nextEntryAt,
  type OutboxEntry,
  outboxSize,
  sendAgainAt,
} from '../store/outbox.ts'
import { introduceAgain } from '../store/peers.ts'
import type { DeliveryState } from '../store/threads.ts'
import { noteDelivered } from '../tasks/delivery.ts'
import { type Sealed, sealMessage, WaitingForCapability, WaitingForKeys } from './sealing.ts'
import { askForCapabilities } from './top-ups.ts'

const LANES_MAX = 4
const BACKOFF_MAX_MS = 10 * 60_000
const STATUS_FIRST_MS = 10_000
const STATUS_LAST_MS = 120_000
const STATUS_ITEMS_MAX = 64
const CREDENTIALS_TRIED_MAX = 2
const RESENT_MAX = 5
const IDLE_MS = 60_000

/** Refusals that the same message will meet again, whatever is done. */
const FINAL_CODES = new Set(['bad_envelope', 'bad_request', 'too_large'])

export class Outbox {
  #ctx: Context
  #hub: () => HubLine | undefined
  #waker = new Waker()
  #stopped = false
  #busyLanes = new Set<string>()
  #statusBusy = false
  #running: Promise<void> | undefined
  #tasks = new Set<Promise<void>>()

  constructor(ctx: Context, hub: () => HubLine | undefined) {
    this.#ctx = ctx
    this.#hub = hub
  }

  start(): void {
    this.#running = this.#run()
  }

  wake(): void {
    this.#waker.wake()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.wake()
    await this.#running
    await Promise.allSettled([...this.#tasks])
  }

  get size(): number {
    return outboxSize(this.#ctx.store)
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      const hub = this.#hub()
      if (hub !== undefined && hub.stopped === undefined) {
        this.#startSends(hub)
        this.#startStatusQuery(hub)
      }
      await this.#waker.sleep(this.#nextWakeMs())
    }
  }

  #nextWakeMs(): number {
    const at = nextEntryAt(this.#ctx.store)
    if (at === undefined) return IDLE_MS
    // What is due but not taken waits for a lane; the end of that lane's task wakes us.
    const wait = at - this.#ctx.now()
    return wait <= 0 ? 1000 : Math.min(wait, IDLE_MS)
  }

  /** Starts the first queued message of every free lane: one lane an interaction, so its order is kept. */
  #startSends(hub: HubLine): void {
    for (const entry of dueEntries(this.#ctx.store, this.#ctx.now())) {
      const lane = String(entry.interaction ?? `peer ${entry.peer}`)
      if (this.#busyLanes.size >= LANES_MAX) return
      if (this.#busyLanes.has(lane)) continue
      this.#busyLanes.add(lane)
      this.#track(this.#send(hub, entry).finally(() => this.#busyLanes.delete(lane)))
    }
  }

  #track(work: Promise<void>): void {
    const task = work
      .catch(error => this.#ctx.log.error({ err: error }, 'outbox'))
      .finally(() => {
        this.#tasks.delete(task)
        this.wake()
      })
    this.#tasks.add(task)
  }

  async #send(hub: HubLine, entry: OutboxEntry): Promise<void> {
    if (this.#ctx.now() >= entry.deadlineAt) return this.#finish(entry, 'unknown', 'deadline')
    let sealed: Sealed | undefined
    try {
      sealed = await sealMessage(this.#ctx, entry)
      const reply = await hub.send(sealed.delivery)
      this.#atHub(entry, sealed, reply.rid, reply.viaHub ?? null)
    } catch (error) {
      await this.#afterFailure(hub, entry, sealed, error)
    }
  }

  #atHub(entry: OutboxEntry, sealed: Sealed, rid: string, viaHub: string | null): void {
    const { store, threads, now } = this.#ctx
    store.transaction(() => {
      const nextAt = now() + this.#statusPause(0)
      // Settled in the meantime, by a proof of delivery or because it was made anew.
      if (!markAtHub(store, entry.message, { rid, viaHub, expiresAt: sealed.expMs, nextAt })) return
      threads.setDelivery(entry.message, 'at_hub')
      this.#announce(entry, 'at_hub')
    }, 'node.send')
  }

  async #afterFailure(
    hub: HubLine,
    entry: OutboxEntry,
    sealed: Sealed | undefined,
    error: unknown,
  ): Promise<void> {
    if (sealed?.capability !== undefined && neverCounted(error))
      this.#ctx.capabilities.refund(sealed.capability)
    if (error instanceof HubStopped) return this.#retry(entry, error.message)
    if (error instanceof WaitingForKeys && error.final) return this.#finish(entry, 'failed', error.message)
    if (error instanceof WaitingForKeys) return this.#retry(entry, error.message)
    if (error instanceof WaitingForCapability) return this.#awaitCapability(entry, error.message)
    if (!(error instanceof Refused)) return this.#retry(entry, describe(error))
    if (FINAL_CODES.has(error.code)) return this.#finish(entry, 'failed', error.code)
    switch (error.code) {
      case 'kid_stale':
      case 'recipient_unknown':
        return this.#refreshPeer(entry, error)
      case 'access_invalid':
        return this.#accessRefused(entry, sealed)
      case 'too_large_for_stranger':
        return this.#awaitCapability(entry, error.code)
      case 'strangers_busy': {
        // A capability may have come while this was on its way; what comes later wakes it.
        const hasOne = this.#ctx.capabilities.holdsAny(entry.peer)
        return this.#retry(entry, error.code, hasOne ? undefined : error.retryAfterMs)
      }
      case 'session_invalid':
        hub.dropSession()
        return this.#retry(entry, error.code, entry.attempts === 0 ? 0 : undefined)
      default:
        return this.#retry(entry, error.code, error.retryAfterMs)
    }
  }

  /** The key set or the home of the recipient changed, or it left; its bucket tells. */
  async #refreshPeer(entry: OutboxEntry, error: Refused): Promise<void> {
    const before = this.#ctx.peers.find(entry.peer)
    const after = await this.#ctx.peers.lookup(entry.peer, { fresh: true }).catch(() => undefined)
    const changed = after !== undefined && (after.log !== before?.log || after.keys !== before?.keys)
    if (error.code === 'recipient_unknown' && !changed) return this.#finish(entry, 'failed', error.code)
    return this.#retry(entry, error.code, changed ? 0 : undefined)
  }

  /** Another epoch voids the stock; under the same epoch a hub must not make us name ourselves by refusing. */
  async #accessRefused(entry: OutboxEntry, sealed: Sealed | undefined): Promise<void> {
    const peer = await this.#ctx.peers.lookup(entry.peer, { fresh: true }).catch(() => undefined)
    const { capabilities, store } = this.#ctx
    if (sealed?.capability !== undefined) capabilities.drop(sealed.capability)
    if (peer?.keys !== undefined && capabilities.dropOtherEpochs(entry.peer, peer.keys.body.mailboxEpoch))
      return this.#retry(entry, 'access_invalid', 0)
    if (entry.credentialsTried >= CREDENTIALS_TRIED_MAX)
      return this.#finish(entry, 'failed', 'access refused')
    countCredential(store, entry.message)
    return this.#retry(entry, 'access_invalid', 0)
  }

  /** Goes once a capability of the recipient is here; its arrival wakes what waits. */
  #awaitCapability(entry: OutboxEntry, reason: string): void {
    this.#retry(entry, reason)
    if (this.#ctx.peers.find(entry.peer) !== undefined) askForCapabilities(this.#ctx, entry.peer)
  }

  #retry(entry: OutboxEntry, reason: string, afterMs?: number): void {
    const { store, now } = this.#ctx
    const backoff = Math.min(
      this.#ctx.timings.backoffFirstMs * 2 ** Math.min(entry.attempts, 12),
      BACKOFF_MAX_MS,
    )
    const wait = Math.max(afterMs ?? 0, afterMs === 0 ? 0 : backoff * (0.5 + this.#fraction() / 2))
    sendAgainAt(store, entry.message, now() + wait, reason)
  }

  #finish(entry: OutboxEntry, state: DeliveryState, reason: string): void {
    const { store, threads } = this.#ctx
    store.transaction(() => {
      if (!threads.setDelivery(entry.message, state, reason)) return
      this.#ctx.capabilities.forgetIssued(entry.peer)
      const message = threads.message(entry.message)
      if (message.interaction !== null && message.number === 1 && message.kind === 0) {
        const interaction = threads.byKey(message.interaction)
        const became = state === 'failed' ? 'failed' : 'expired'
        if (interaction.state === 'queued') threads.update(interaction, { state: became, reason })
      }
      this.#announce(entry, state)
    }, 'node.finish')
  }

  #announce(entry: OutboxEntry, state: DeliveryState): void {
    if (entry.interaction === null) return
    const { threads, store, events } = this.#ctx
    const about = {
      interaction_id: threads.byKey(entry.interaction).id,
      number: threads.message(entry.message).number,
      state,
    }
    store.afterCommit(() => events.emit('delivery', about))
  }

  /** Asks what became of the messages of one recipient; never two such questions at a time. */
  #startStatusQuery(hub: HubLine): void {
    if (this.#statusBusy) return
    const entries = entriesToAskAbout(this.#ctx.store, this.#ctx.now(), STATUS_ITEMS_MAX)
    const [first] = entries
    if (first === undefined) return
    this.#statusBusy = true
    this.#track(
      this.#askStates(hub, first.peer, entries).finally(() => {
        this.#statusBusy = false
      }),
    )
  }

  async #askStates(hub: HubLine, peer: string, entries: OutboxEntry[]): Promise<void> {
    for (const entry of entries) this.#postpone(entry)
    const viaHub = entries[0]?.viaHub ?? null
    const asked = entries.filter(entry => entry.viaHub === viaHub)
    try {
      const replies = await hub.deliveryStates(
        peer,
        asked.map(entry => ({
          rid: entry.rid as string,
          handle: dackHandle(entry.handleSecret),
          ...(entry.viaHub === null ? {} : { viaHub: entry.viaHub }),
        })),
      )
      for (const [i, reply] of replies.entries()) {
        const entry = asked[i] as OutboxEntry
        if (reply.dack !== undefined) await this.#takeConfirmation(entry, reply.dack)
        else if (reply.state === 'done') this.#finish(entry, 'unknown', 'collected, not confirmed')
        // What has expired is given to nobody any more, whatever the hub still calls it.
        else if (reply.state === 'unknown' || this.#isExpired(entry)) this.#lost(entry)
        else if (this.#ctx.now() >= entry.deadlineAt) this.#finish(entry, 'unknown', 'deadline')
      }
    } catch (error) {
      this.#ctx.log.debug({ reason: describe(error) }, 'status query failed')
    }
  }

  #postpone(entry: OutboxEntry): void {
    const pause = this.#statusPause(entry.attempts)
    askAgainAt(this.#ctx.store, entry.message, this.#ctx.now() + pause)
  }

  /** 10 to 120 s apart and jittered, so that a hub cannot pair a pickup with the question about it. */
  #statusPause(asked: number): number {
    const span = Math.min(STATUS_FIRST_MS * 2 ** asked, STATUS_LAST_MS - STATUS_FIRST_MS)
    return Math.ceil(STATUS_FIRST_MS + span * this.#fraction())
  }

  /** The hub no longer knows the envelope: it expired, or the hub lost it; sent again, the same message. */
  #lost(entry: OutboxEntry): void {
    const now = this.#ctx.now()
    if (now >= entry.deadlineAt) this.#finish(entry, 'unknown', 'deadline')
    else if (entry.resent >= RESENT_MAX) this.#finish(entry, 'unknown', 'sent again and again in vain')
    else {
      countResending(this.#ctx.store, entry.message)
      const reason = this.#isExpired(entry) ? 'expired' : 'to be sent again'
      this.#retry({ ...entry, attempts: entry.resent }, reason)
    }
  }

  #isExpired({ expiresAt }: OutboxEntry): boolean {
    return expiresAt !== null && this.#ctx.hubNow() >= expiresAt
  }

  async #takeConfirmation(entry: OutboxEntry, sealed: Uint8Array): Promise<void> {
    const dack = this.#openConfirmation(entry, sealed)
    if (dack === undefined)
      return this.#finish(entry, 'unknown', 'collected, the confirmation does not verify')
    const { code } = dack.body
    if (code === dackCodes.stored)
      return this.#ctx.store.transaction(() => noteDelivered(this.#ctx, entry.message), 'node.confirm')
    if (code === dackCodes.retiredKey || code === dackCodes.times) {
      introduceAgain(this.#ctx.store, entry.peer)
      return this.#lost(entry)
    }
    this.#finish(entry, 'failed', confirmationReasons[code] ?? `refused with code ${code}`)
  }

  /** The confirmation, when it is the recipient's and names this message. */
  #openConfirmation(entry: OutboxEntry, sealed: Uint8Array): Dack | undefined {
    try {
      const dack = openDack(entry.handleSecret, sealed)
      const { body } = dack
      const message = this.#ctx.threads.message(entry.message)
      const log = this.#ctx.peers.find(entry.peer)?.log
      const key = log === undefined ? undefined : keyAt(log, body.kelSeq)
      const digests = JSON.parse(entry.digests) as string[]
      const fits =
        body.recipient === entry.peer &&
        Buffer.from(body.messageId).equals(message.messageId) &&
        Buffer.from(body.messageDigest).equals(message.digest) &&
        digests.includes(toBase64url(body.envelopeDigest))
      return fits && key !== undefined && DackCodec.verify(key, dack) ? dack : undefined
    } catch {
      return undefined
    }
  }

  #fraction(): number {
    const [high, low] = this.#ctx.random(2)
    return ((high as number) * 256 + (low as number)) / 65_536
  }
}
