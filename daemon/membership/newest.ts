/**
 * Whether this is the newest copy of its identity: the hub is asked at each start, and nothing leaves this machine before it
 * has answered. A directory that may be a copy looks for its original as well, before it signs anything.
 */
import { Refused } from '../../protocol/contract/client.ts'
import { sleep } from '../../protocol/timers.ts'
import { dueSet, noteSetPublished, noteSetRaised } from '../chain/accept.ts'
import { notePlace, noteSecond, sayMayBeTakenOver, twinSeenAt } from '../chain/place.ts'
import { describe } from '../hubs/failures.ts'
import type { HubClient } from '../hubs/hub.ts'
import { isKeptOut } from '../hubs/kept-out.ts'
import { within } from '../platform/within.ts'
import { noteSettled, restoredAt } from '../store/restores.ts'
import { compareWithHub, compareWithOther } from './own-log.ts'
import type { Sync, SyncNeeds } from './sync.ts'

/** How long a start or a key event waits for a hub that does not answer. */
export const HUB_WAIT_MS = 3000
const LOOK_AGAIN_MS_MAX = 8000
const UNASKED =
  'the hub could not be asked whether this is the newest copy of the identity; until it answers, nothing leaves this machine; what a copy signs contradicts what another one signed'

/** What a node does with the mail that waits for it. */
export type WaitingMail = {
  /** Looks at it, and whether another node of this identity waits for it too. */
  watch(hub: HubClient): Promise<'alone' | 'came_second'>
  drain(hub: HubClient): Promise<unknown>
}

export class Newest {
  readonly #ctx: SyncNeeds
  readonly #sync: Sync
  /** Learns what the home hub has become. */
  readonly #refresh: () => Promise<void>
  /** Hubs beside the home that have an account of this identity. */
  readonly #others: () => HubClient[]
  readonly #asked = Promise.withResolvers<void>()
  #looking: Promise<void> | undefined

  constructor(ctx: SyncNeeds, sync: Sync, hubs: { refresh: () => Promise<void>; others: () => HubClient[] }) {
    this.#ctx = ctx
    this.#sync = sync
    this.#refresh = hubs.refresh
    this.#others = hubs.others
  }

  /** Asks the hub before anything is signed; a start waits some seconds for it. */
  async atStart(): Promise<void> {
    const { hub } = this.#ctx
    const home = hub.home
    if (home === undefined) return
    if (hub.oldCopy !== undefined) return hub.halt(home, hub.oldCopy)
    if (hub.unsettled === undefined) this.#waitForAnswer()
    await within(this.#ctx.timers, HUB_WAIT_MS, this.#look())
  }

  /** Nothing leaves before the hub was asked; where a copy was seen, nothing is signed either. */
  #waitForAnswer(): void {
    const { hub, store } = this.#ctx
    const seenMs = twinSeenAt(store)
    if (seenMs !== undefined) hub.unsettled = sayMayBeTakenOver(seenMs)
    hub.unasked = hub.unsettled ?? UNASKED
  }

  /** Asks until the hub has answered, or is one to which this node does not talk. */
  async asked(signal: AbortSignal): Promise<void> {
    const { hub, timers, timings } = this.#ctx
    const isOver = () =>
      hub.unasked === undefined || hub.oldCopy !== undefined || hub.last?.stopped !== undefined
    for (let n = 0; !isOver() && !signal.aborted; n++) {
      const waitMs = Math.min(timings.backoffFirstMs * 2 ** n, LOOK_AGAIN_MS_MAX)
      await Promise.race([this.#asked.promise, sleep(timers, waitMs, signal).catch(() => undefined)])
      if (!isOver() && !signal.aborted) await this.#look()
    }
  }

  /** One look at a time; why it failed is what the state of the hub says. */
  async #look(): Promise<void> {
    this.#looking ??= this.compare()
      .catch(error => this.#noteUnanswered(error))
      .finally(() => {
        this.#looking = undefined
      })
    await this.#looking
  }

  async #noteUnanswered(error: unknown): Promise<void> {
    const { hub, log, identity } = this.#ctx
    const { home } = hub
    if (home !== undefined) hub.noteContact(describe(error), await isKeptOut(error, home, identity.log))
    log.warn({ reason: describe(error) }, 'the hub was not asked whether this is an old copy')
  }

  /** Learns what the home hub has become, and what it holds of this identity. */
  async compare(): Promise<void> {
    const { hub } = this.#ctx
    await this.#refresh()
    if (hub.home === undefined) return
    hub.oldCopy ??= await compareWithHub(this.#ctx, hub.home)
    hub.retiredAt.delete(hub.home.url)
    hub.isCompared = true
    const isPlaceKnown = hub.unsettled === undefined || hub.unsettled === hub.unasked
    if (hub.oldCopy === undefined && isPlaceKnown) await this.#showTakenOver()
    this.waive()
  }

  /** What other hubs hold of this identity, where they answer; `at`: those alone. */
  async askOthers(at?: ReadonlySet<string>): Promise<void> {
    if (at?.size === 0) return
    const asked = this.#others().filter(({ url }) => at?.has(url) ?? true)
    await within(this.#ctx.timers, HUB_WAIT_MS, Promise.all(asked.map(other => this.#askOther(other))))
  }

  async #askOther(other: HubClient): Promise<void> {
    const { hub, log } = this.#ctx
    try {
      const why = await compareWithOther(this.#ctx, other)
      hub.oldCopy ??= why
      hub.retiredAt.delete(other.url)
    } catch (error) {
      log.info({ reason: describe(error) }, 'a previous hub was not asked whether this is an old copy')
    }
  }

  /** Nothing waits for the answer of this hub any more. */
  waive(): void {
    const { hub, wakers } = this.#ctx
    if (hub.unasked === undefined) return
    if (hub.unsettled === hub.unasked) hub.unsettled = undefined
    hub.unasked = undefined
    for (const waker of [wakers.payments, wakers.spending, wakers.audits]) waker.wake()
    this.#asked.resolve()
  }

  /** Other copies find a key set that they have not made, before this one is heard of. */
  async #showTakenOver(): Promise<void> {
    const { store } = this.#ctx
    const due = dueSet(store)
    if (due === undefined) return
    if (due === 'raise') {
      this.#sync.raiseSet()
      noteSetRaised(store)
    }
    try {
      await this.#sync.publishSet()
    } catch (error) {
      // a hub that refuses it is told again with the next round
      if (!(error instanceof Refused)) throw error
    }
    noteSetPublished(store)
  }

  /**
   * Of a directory that came from an archive: the hub is asked, however long that takes, and the waiting mail looked
   * through and then taken, before anything else. Then the next key set goes above every one that was given out, so that whoever starts from the same
   * archive later finds a newer copy.
   */
  async settle(mail: WaitingMail, signal: AbortSignal): Promise<void> {
    const { hub, store, timers, timings, now, dir } = this.#ctx
    while (hub.oldCopy === undefined && !(await this.#isSettled(mail))) {
      await sleep(timers, timings.settleMs, signal).catch(() => undefined)
      if (signal.aborted) return
    }
    if (hub.oldCopy === undefined) {
      const madeAtMs = restoredAt(store)
      this.#sync.raiseSet()
      noteSetPublished(store)
      if (madeAtMs !== undefined) noteSettled(store, madeAtMs, now())
      notePlace(store, dir)
    }
    hub.unsettled = undefined
  }

  async #isSettled({ watch, drain }: WaitingMail): Promise<boolean> {
    const { hub, log } = this.#ctx
    try {
      if (hub.home === undefined) return true
      if (!hub.isCompared) await this.compare()
      if (hub.oldCopy === undefined) await this.askOthers()
      if (hub.oldCopy === undefined && (await watch(hub.home)) === 'came_second') this.#comeSecond(hub.home)
      if (hub.oldCopy === undefined) await drain(hub.home)
      return true
    } catch (error) {
      log.info({ reason: describe(error) }, 'the hub was not asked what came after the archive')
      return error instanceof Refused && hub.isCompared && (await this.#isUnknown(error))
    }
  }

  /** Whether a hub that refused knows this identity no longer: then it has no mail, and no other node waits for any. */
  async #isUnknown({ code }: Refused): Promise<boolean> {
    const { hub, identity } = this.#ctx
    if (code === 'admission_required') return true
    return await (hub.home?.fetchAgent(identity.aid) ?? Promise.resolve(undefined)).then(
      found => found === undefined,
      error => error instanceof Refused && error.code === 'unknown_aid',
    )
  }

  /** Another node of this identity was first: nothing was published or signed here, and nothing will be. */
  #comeSecond(home: HubClient): void {
    const { hub, store, dir, now, log } = this.#ctx
    const why = noteSecond(store, dir, now())
    log.error({ reason: why }, 'stopped talking to the hub')
    hub.oldCopy = why
    hub.halt(home, why)
  }
}
