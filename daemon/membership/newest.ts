/**
 * Whether this is the newest copy of its identity: the hub is asked at each start, and nothing leaves this machine before it
 * has answered. A directory that may be a copy looks for its original as well, before it signs anything.
 */
import { Refused } from '../../protocol/contract/client.ts'
import { sleep } from '../../protocol/timers.ts'
import type { CurrentHub } from '../hubs/current.ts'
import { describe } from '../hubs/failures.ts'
import type { HubClient } from '../hubs/hub.ts'
import type { Machine } from '../platform/machine.ts'
import type { Timings } from '../platform/timings.ts'
import { within } from '../platform/within.ts'
import type { Accounts } from './accounts.ts'
import type { HomeHub } from './home-hub.ts'
import type { OwnLog } from './own-log.ts'
import type { Sync } from './sync.ts'
import type { ThisCopy } from './this-copy.ts'

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

type NewestParts = {
  hub: CurrentHub
  home: HomeHub
  accounts: Accounts
  ownLog: OwnLog
  copy: ThisCopy
  sync: Sync
  /** What waited for the answer of the hub goes on. */
  wake: () => void
}

export class Newest {
  readonly #parts: NewestParts
  readonly #machine: Machine
  readonly #timings: Pick<Timings, 'backoffFirstMs' | 'settleMs'>
  readonly #asked = Promise.withResolvers<void>()
  #looking: Promise<void> | undefined

  constructor(parts: NewestParts, machine: Machine, timings: Pick<Timings, 'backoffFirstMs' | 'settleMs'>) {
    this.#parts = parts
    this.#machine = machine
    this.#timings = timings
  }

  /** Asks the hub before anything is signed; a start waits some seconds for it. */
  async atStart(): Promise<void> {
    const { hub } = this.#parts
    const home = hub.home
    if (home === undefined) return
    if (hub.oldCopy !== undefined) return hub.halt(home, hub.oldCopy)
    if (hub.unsettled === undefined) this.#waitForAnswer()
    await within(this.#machine.timers, HUB_WAIT_MS, this.#look())
  }

  /** Nothing leaves before the hub was asked; where a copy was seen, nothing is signed either. */
  #waitForAnswer(): void {
    const { hub, copy } = this.#parts
    hub.unsettled = copy.mayBeTakenOver ?? hub.unsettled
    hub.unasked = hub.unsettled ?? UNASKED
  }

  /** Asks until the hub has answered, or is one to which this node does not talk. */
  async asked(signal: AbortSignal): Promise<void> {
    const { hub } = this.#parts
    const { timers } = this.#machine
    const isOver = () =>
      hub.unasked === undefined || hub.oldCopy !== undefined || hub.last?.stopped !== undefined
    for (let n = 0; !isOver() && !signal.aborted; n++) {
      const waitMs = Math.min(this.#timings.backoffFirstMs * 2 ** n, LOOK_AGAIN_MS_MAX)
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
    const { hub, ownLog } = this.#parts
    const { home } = hub
    if (home !== undefined) hub.noteContact(describe(error), await ownLog.isKeptOut(error, home))
    this.#machine.log.warn({ reason: describe(error) }, 'the hub was not asked whether this is an old copy')
  }

  /** Learns what the home hub has become, and what it holds of this identity. */
  async compare(): Promise<void> {
    const { hub, home, ownLog } = this.#parts
    await home.refresh()
    if (hub.home === undefined) return
    hub.oldCopy ??= await ownLog.compareWithHub(hub.home)
    hub.retiredAt.delete(hub.home.url)
    hub.isCompared = true
    const isPlaceKnown = hub.unsettled === undefined || hub.unsettled === hub.unasked
    if (hub.oldCopy === undefined && isPlaceKnown) await this.#showTakenOver()
    this.waive()
  }

  /** What other hubs hold of this identity, where they answer; `at`: those alone. */
  async askOthers(at?: ReadonlySet<string>): Promise<void> {
    if (at?.size === 0) return
    const asked = this.#parts.accounts.others().filter(({ url }) => at?.has(url) ?? true)
    await within(this.#machine.timers, HUB_WAIT_MS, Promise.all(asked.map(other => this.#askOther(other))))
  }

  async #askOther(other: HubClient): Promise<void> {
    const { hub, ownLog } = this.#parts
    try {
      const why = await ownLog.compareWithOther(other)
      hub.oldCopy ??= why
      hub.retiredAt.delete(other.url)
    } catch (error) {
      this.#machine.log.info(
        { reason: describe(error) },
        'a previous hub was not asked whether this is an old copy',
      )
    }
  }

  /** Nothing waits for the answer of this hub any more. */
  waive(): void {
    const { hub, wake } = this.#parts
    if (hub.unasked === undefined) return
    if (hub.unsettled === hub.unasked) hub.unsettled = undefined
    hub.unasked = undefined
    wake()
    this.#asked.resolve()
  }

  /** Other copies find a key set that they have not made, before this one is heard of. */
  async #showTakenOver(): Promise<void> {
    const { copy, sync } = this.#parts
    const due = copy.dueSet
    if (due === undefined) return
    if (due === 'raise') {
      sync.raiseSet()
      copy.noteSetRaised()
    }
    try {
      await sync.publishSet()
    } catch (error) {
      // a hub that refuses it is told again with the next round
      if (!(error instanceof Refused)) throw error
    }
    copy.noteSetPublished()
  }

  /**
   * Of a directory that came from an archive: the hub is asked, however long that takes, and the waiting mail looked
   * through and then taken, before anything else. Then the next key set goes above every one that was given out, so that whoever starts from the same
   * archive later finds a newer copy.
   */
  async settle(mail: WaitingMail, signal: AbortSignal): Promise<void> {
    const { hub, copy, sync } = this.#parts
    while (hub.oldCopy === undefined && !(await this.#isSettled(mail))) {
      await sleep(this.#machine.timers, this.#timings.settleMs, signal).catch(() => undefined)
      if (signal.aborted) return
    }
    if (hub.oldCopy === undefined) {
      sync.raiseSet()
      copy.noteSettled()
    }
    hub.unsettled = undefined
  }

  async #isSettled({ watch, drain }: WaitingMail): Promise<boolean> {
    const { hub } = this.#parts
    try {
      if (hub.home === undefined) return true
      if (!hub.isCompared) await this.compare()
      if (hub.oldCopy === undefined) await this.askOthers()
      if (hub.oldCopy === undefined && (await watch(hub.home)) === 'came_second') this.#comeSecond(hub.home)
      if (hub.oldCopy === undefined) await drain(hub.home)
      return true
    } catch (error) {
      this.#machine.log.info({ reason: describe(error) }, 'the hub was not asked what came after the archive')
      return error instanceof Refused && hub.isCompared && (await this.#isUnknown(error))
    }
  }

  /** Whether a hub that refused knows this identity no longer: then it has no mail, and no other node waits for any. */
  async #isUnknown({ code }: Refused): Promise<boolean> {
    const { hub, ownLog } = this.#parts
    if (code === 'admission_required' || hub.home === undefined) return true
    return await ownLog.isUnknownAt(hub.home)
  }

  /** Another node of this identity was first: nothing was published or signed here, and nothing will be. */
  #comeSecond(home: HubClient): void {
    const { hub, copy } = this.#parts
    const why = copy.comeSecond()
    this.#machine.log.error({ reason: why }, 'stopped talking to the hub')
    hub.oldCopy = why
    hub.halt(home, why)
  }
}
