/**
 * The way of a message out of this node: sent in the order of its interaction, watched until its delivery is proven, refused or past its deadline. Nothing is ever lost without a state that says so.
 */
import type { Delivered } from '../carrier/carrier.ts'
import type { Context } from '../context.ts'
import { reasonOf } from '../hubs/failures.ts'
import type { HubClient } from '../hubs/hub.ts'
import { Loop } from '../platform/loop.ts'
import { dueEntries, markAtHub, nextEntryAt, type OutboxEntry } from '../store/outbox.ts'
import { returnHead } from './heads.ts'
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
export type Attempted = Pick<Delivered, 'reached'>

/** One attempt: whatever comes of it stands in the store when this resolves. */
export async function sendEntry(ctx: Context, hub: HubClient, entry: OutboxEntry): Promise<Attempted> {
  if (endIfOverdue(ctx, entry)) return { reached: undefined }
  const delivered = await ctx.carriers.over(hub).deliver(entry)
  try {
    settle(ctx, entry, delivered)
  } catch (error) {
    retry(ctx, entry, { why: reasonOf(error) })
  }
  // the hub is there again: mail is fetched at once, not after the pause of its failures
  if (delivered.outcome === 'at_hub' && ctx.hub.state.state === 'offline') ctx.wakers.relay.wake()
  return { reached: delivered.reached }
}

function settle(ctx: Context, entry: OutboxEntry, delivered: Delivered): void {
  if (delivered.outcome === 'at_hub') atHub(ctx, entry, delivered)
  else if (delivered.outcome === 'again') retry(ctx, entry, delivered)
  else if (delivered.outcome === 'final') finish(ctx, entry, 'failed', delivered.reason)
}

function atHub(
  ctx: Context,
  entry: OutboxEntry,
  { at, isQuiet }: Extract<Delivered, { outcome: 'at_hub' }>,
): void {
  const { store, threads, now } = ctx
  // lost with the power, the message is sent anew, and the recipient knows it
  store.unflushed(() => {
    const sent = { ...at, nextAt: now() + statusPause(ctx, 0), lastError: isQuiet ? QUIET : null }
    // Settled in the meantime, by a proof of delivery or because it was made anew.
    if (!markAtHub(store, entry.message, sent)) return
    threads.setDelivery(entry.message, 'at_hub')
    announce(ctx, entry, 'at_hub')
    returnHead(ctx, entry.peer)
  }, 'node.send')
}
