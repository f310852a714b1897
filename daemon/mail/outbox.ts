/**
 * The way of a message out of this node: sealed at every attempt, sent in the order of its interaction, watched until
 * its delivery is proven, refused or past its deadline. Nothing is ever lost without a state that says so.
 */
import { Refused } from '../../protocol/contract/client.ts'
import { toBase64url } from '../../protocol/encoding/bytes.ts'
import type { Context } from '../context.ts'
import { isUnreached, neverCounted, reasonOf } from '../hubs/failures.ts'
import { type HubClient, HubStopped, type SendReply } from '../hubs/hub.ts'
import { Loop } from '../platform/loop.ts'
import { dueEntries, isHeld, markAtHub, nextEntryAt, type OutboxEntry, SESSION } from '../store/outbox.ts'
import { ownReason } from '../store/reasons.ts'
import { pauseOf, WaitingForKeys } from './awaited-keys.ts'
import { returnHead } from './heads.ts'
import { afterRefusal, awaitAccess, awaitCapability, isRefused } from './refusals.ts'
import { type Sealed, sealMessage, WaitingForCapability } from './sealing.ts'
import { askWhatIsDue, statusPause } from './status-queries.ts'
import { announce, endIfOverdue, finish, retry } from './steps.ts'

const LANES_MAX = 4
const IDLE_MS = 60_000
const BUSY_MS = 1000
/** Between two looks for a hub that can't be reached. */
const AWAY_MS_MAX = 10_000
export const QUIET =
  'the recipient has collected no mail for an hour or more, as the hub says; it waits there'

export class Outbox {
  readonly #ctx: Context
  readonly #loop: Loop
  readonly #busyLanes = new Set<string>()
  #asking = false
  /** Attempts in a row that did not reach the hub, and when the next one may be made. */
  #unreached = 0
  #lookAgainAt = 0
  #stopListening = () => {}

  constructor(ctx: Context) {
    this.#ctx = ctx
    this.#loop = new Loop({
      name: 'outbox',
      waker: ctx.wakers.outbox,
      log: ctx.log,
      restFirstMs: ctx.timings.backoffFirstMs,
      turn: () => this.#turn(),
    })
  }

  start(): void {
    this.#stopListening = this.#ctx.events.listen(({ type, data }) => {
      if (type === 'hub' && data['state'] === 'online') this.#noteReached(true)
    })
    this.#loop.start()
  }

  async stop(): Promise<void> {
    this.#stopListening()
    await this.#loop.stop()
  }

  #turn(): number {
    const hub = this.#ctx.hub.home
    if (hub === undefined || hub.stopped !== undefined) return IDLE_MS
    const waitMs = this.#unreached === 0 ? 0 : this.#lookAgainAt - this.#ctx.now()
    if (waitMs > 0) return Math.min(waitMs, AWAY_MS_MAX)
    this.#startSends(hub)
    if (this.#unreached === 0) this.#startStatusQuery(hub)
    return this.#pauseMs()
  }

  #pauseMs(): number {
    const at = nextEntryAt(this.#ctx.store)
    if (at === undefined) return IDLE_MS
    // What is due but not taken waits for a lane; the end of that lane's task wakes us.
    const wait = at - this.#ctx.now()
    return wait <= 0 ? BUSY_MS : Math.min(wait, IDLE_MS)
  }

  /**
   * Starts the first queued message of every free lane: one lane an interaction, so its order is kept. While the hub
   * can't be reached one message at a time looks for it, and nothing else is sealed.
   */
  #startSends(hub: HubClient): void {
    const lanesMax = this.#unreached === 0 ? LANES_MAX : 1
    for (const entry of dueEntries(this.#ctx.store, this.#ctx.now())) {
      const lane = String(entry.interaction ?? `peer ${entry.peer}`)
      if (this.#busyLanes.size >= lanesMax) return
      if (this.#busyLanes.has(lane)) continue
      this.#busyLanes.add(lane)
      const sent = sendEntry(this.#ctx, hub, entry).then(({ reached }) => this.#noteReached(reached))
      this.#loop.follow(sent.finally(() => this.#busyLanes.delete(lane)))
    }
  }

  #noteReached(reached: boolean | undefined): void {
    if (reached === undefined) return
    const { timings, now, wakers } = this.#ctx
    if (reached && this.#unreached > 0) wakers.outbox.wake()
    this.#unreached = reached ? 0 : this.#unreached + 1
    this.#lookAgainAt = now() + Math.min(timings.backoffFirstMs * 2 ** (this.#unreached - 1), AWAY_MS_MAX)
  }

  /** Never two questions at a time. */
  #startStatusQuery(hub: HubClient): void {
    const asking = this.#asking ? undefined : askWhatIsDue(this.#ctx, hub)
    if (asking === undefined) return
    this.#asking = true
    this.#loop.follow(
      asking.finally(() => {
        this.#asking = false
      }),
    )
  }
}

/** Whether the hub was reached; undefined where the attempt ended before that. */
export type Attempted = { reached: boolean | undefined }

/** One attempt: whatever comes of it stands in the store when this resolves. */
export async function sendEntry(ctx: Context, hub: HubClient, entry: OutboxEntry): Promise<Attempted> {
  if (endIfOverdue(ctx, entry)) return { reached: undefined }
  if (isRefused(entry)) {
    await awaitAccess(ctx, entry)
    return { reached: undefined }
  }
  let sealed: Sealed | undefined
  try {
    sealed = await sealMessage(ctx, entry)
    atHub(ctx, entry, sealed, await deliver(ctx, hub, entry, sealed))
    // the hub is there again: mail is fetched at once, not after the pause of its failures
    if (ctx.hub.state.state === 'offline') ctx.wakers.relay.wake()
    return { reached: true }
  } catch (error) {
    await afterFailure(ctx, { hub, entry, sealed }, error)
    return { reached: isUnreached(error) ? false : isRefusedByHub(error) || undefined }
  }
}

/** By the place for envelopes, or by the directory that was asked for keys before. */
const isRefusedByHub = (error: unknown): boolean =>
  (error instanceof WaitingForKeys ? error.cause : error) instanceof Refused

/** Hands an envelope to the hub, counted, until it is held back. */
async function deliver(
  ctx: Context,
  hub: HubClient,
  entry: OutboxEntry,
  { delivery }: Sealed,
): Promise<SendReply> {
  const id = entry.interaction === null ? undefined : ctx.threads.byKey(entry.interaction).id
  const { content, signal, end } = ctx.transfers.begin(entry.message, id, delivery)
  try {
    return await hub.send({ ...delivery, content, signal })
  } finally {
    end()
  }
}

function atHub(ctx: Context, entry: OutboxEntry, sealed: Sealed, reply: SendReply): void {
  const { store, threads, now } = ctx
  // lost with the power, the message is sent anew, and the recipient knows it
  store.unflushed(() => {
    const sent = {
      rid: reply.rid,
      viaHub: reply.viaHub ?? null,
      credential: sealed.capability === undefined ? SESSION : toBase64url(sealed.capability),
      expiresAt: sealed.expMs,
      nextAt: now() + statusPause(ctx, 0),
      lastError: reply.isQuiet === true ? QUIET : null,
    }
    // Settled in the meantime, by a proof of delivery or because it was made anew.
    if (!markAtHub(store, entry.message, sent)) return
    threads.setDelivery(entry.message, 'at_hub')
    announce(ctx, entry, 'at_hub')
    returnHead(ctx, entry.peer)
  }, 'node.send')
}

type Attempt = { hub: HubClient; entry: OutboxEntry; sealed: Sealed | undefined }

async function afterFailure(ctx: Context, attempt: Attempt, error: unknown): Promise<void> {
  const { entry, sealed } = attempt
  if (sealed?.capability !== undefined && neverCounted(error)) ctx.capabilities.refund(sealed.capability)
  if (isHeld(ctx.store, entry.message)) return
  if (error instanceof Refused) return afterRefusal(ctx, { ...attempt, refused: error })
  if (error instanceof WaitingForCapability) return awaitCapability(ctx, entry, ownReason(error.message))
  if (error instanceof WaitingForKeys) return awaitKeys(ctx, entry, error)
  if (error instanceof HubStopped) return retry(ctx, entry, reasonOf(error))
  // the outbox looks for a hub that can't be reached: once it is found, everything is due
  retry(ctx, entry, reasonOf(error), isUnreached(error) ? 0 : undefined)
}

function awaitKeys(ctx: Context, entry: OutboxEntry, waiting: WaitingForKeys): void {
  const { why, afterMs } = pauseOf(waiting)
  if (waiting.why === 'ended') finish(ctx, entry, 'failed', why.reason)
  else retry(ctx, entry, why, afterMs)
}
