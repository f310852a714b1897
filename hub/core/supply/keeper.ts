/**
 * Keeps the books of the hub: each day's epoch at the first turn after midnight, trial credits that are due, holds that
 * have lapsed, all of it by the process that leads. What a stopped hub missed comes at the next start.
 */
import type { Timer } from '../../../protocol/timers.ts'
import type { SupplyHead } from '../../store/ledger-port.ts'
import type { SignerClocks } from '../clocks.ts'
import type { HubContext } from '../context.ts'
import type { Credits } from '../ledger/credits.ts'
import type { Issuance } from '../ledger/issuance.ts'
import { DAY_MS, HOUR_MS } from '../limits.ts'
import type { SupplyChain } from './chain.ts'
import { type Built, type EpochMaker, type EpochOf, epochsHere } from './epochs.ts'
import { chainHeld, heldSentence } from './held.ts'
import type { Publication, PublishedEpoch } from './publication.ts'
import { liabilitySecret } from './secret.ts'

const LOOK_EVERY_MS = 60_000
const TRIALS_AT_ONCE = 200
/** Transfers whose sums take no time that anybody notices. */
const RECOUNTED_IN_PLACE_MAX = 2_000

type Parts = {
  supply: SupplyChain
  credits: Credits
  issuance: Issuance
  publication: Publication
  clocks: Pick<SignerClocks, 'note'>
  /** Reads the whole ledger and holds up nobody. */
  makeEpoch: EpochMaker
}

export class BookKeeper {
  readonly #context: HubContext
  readonly #supply: SupplyChain
  readonly #credits: Credits
  readonly #issuance: Issuance
  readonly #publication: Publication
  readonly #clocks: Parts['clocks']
  readonly #makeEpoch: EpochMaker
  readonly #timer: Timer
  #running: Promise<void> = Promise.resolve()
  #trialsAtMs = 0
  #recountedAtMs = 0
  /** The books do not agree, and the operator knows: no epoch is written and nothing is paid until they do. */
  #disagreeing = false
  #heldWhy: string | undefined

  constructor(context: HubContext, { supply, credits, issuance, publication, clocks, makeEpoch }: Parts) {
    this.#context = context
    this.#supply = supply
    this.#credits = credits
    this.#issuance = issuance
    this.#publication = publication
    this.#clocks = clocks
    this.#makeEpoch = makeEpoch
    this.#timer = context.timers.every(LOOK_EVERY_MS, () => void this.turn())
    this.#timer.unref()
    this.#running = this.#told('the recount of the books', () => this.#recount())
    // a raised balance must not be paid out before the first epoch finds it
    credits.recounted = this.#running
    void this.turn()
  }

  /** One turn of all that is due; turns follow each other. */
  turn(): Promise<void> {
    this.#running = this.#running.then(() => this.#turn())
    return this.#running
  }

  async #turn(): Promise<void> {
    await this.#told('the clock of holds', () => this.#watchClock())
    await this.#told('the recount of the books', () => this.#recountHourly())
    await this.#context.memory.leader.lead('books', async () => {
      if (!this.#credits.stopped) {
        await this.#told('lapsed holds', () => this.#endHolds())
        await this.#told('trial credits', () => this.#giveTrials())
      }
      await this.#told('the epoch of the day', () => this.#writeEpoch())
    })
  }

  /** A duty that fails keeps none of the others from being done. */
  async #told(duty: string, work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      this.#context.alert('bookkeeping failed', { duty, error: why })
    }
  }

  /** While credits are held, a start has to know when the hub last ran. */
  async #watchClock(): Promise<void> {
    const { store, now } = this.#context
    const { clock } = this.#credits.holds
    clock.look()
    if ((await store.creditTotals()).holds > 0) this.#clocks.note(now())
    else await clock.accept()
  }

  async #recountHourly(): Promise<void> {
    if (this.#context.now() >= this.#recountedAtMs + HOUR_MS) await this.#recount()
  }

  /** Compares the accounts with their entries and with the totals; what differs stops payments, and nothing mends it here. */
  async #recount(): Promise<void> {
    const { store, now } = this.#context
    this.#recountedAtMs = now()
    const isSmall = (await store.ledgerHw()) <= RECOUNTED_IN_PLACE_MAX
    const answer = await (isSmall ? epochsHere(store) : this.#makeEpoch)()
    this.#judge('disagree' in answer ? answer.disagree : undefined)
  }

  /** Whether anything is paid, and that the operator knows. */
  #judge(disagree: Record<string, unknown> | undefined): void {
    this.#credits.stopped = disagree !== undefined
    if (disagree !== undefined && !this.#disagreeing)
      this.#context.alert('the books do not agree; nothing is paid', disagree)
    this.#disagreeing = disagree !== undefined
  }

  async #endHolds(): Promise<void> {
    while (await this.#credits.holds.lapse());
  }

  /** Once an hour, to accounts that have earned theirs; what the day's budget does not hold waits. */
  async #giveTrials(): Promise<void> {
    const { store, now, limits } = this.#context
    const nowMs = now()
    if (limits.trialCredits === 0 || nowMs < this.#trialsAtMs + HOUR_MS) return
    this.#trialsAtMs = nowMs
    for (let afterAid = ''; ; ) {
      const aids = await store.withoutTrial({ afterAid, nowMs, limit: TRIALS_AT_ONCE })
      for (const aid of aids) if (!(await this.#issuance.trial(aid, true))) return
      if (aids.length < TRIALS_AT_ONCE) return
      afterAid = aids.at(-1) ?? ''
    }
  }

  async #writeEpoch(): Promise<void> {
    if (await this.#isHeld()) return
    const day = Math.floor(this.#context.now() / DAY_MS) - 1
    const last = await this.#publication.newestEpoch()
    if (day <= last.epoch.day) return
    await this.#supply.appendEpoch(async head => {
      if (!(await this.#hasMoved(last, head))) return undefined
      const secret = await liabilitySecret(this.#context)
      return await this.#build({ day, fromDay: last.epoch.day + 1, secret })
    })
  }

  /** The operator is told once why the chain stands still. */
  async #isHeld(): Promise<boolean> {
    const held = await chainHeld(this.#context.store, this.#supply.head)
    const why = held && heldSentence(held)
    if (why !== undefined && why !== this.#heldWhy) this.#context.alert(why, {})
    this.#heldWhy = why
    return why !== undefined
  }

  async #hasMoved(last: PublishedEpoch, head: SupplyHead): Promise<boolean> {
    return head.seq > last.seq || (await this.#context.store.ledgerHw()) > last.epoch.ledger_hw
  }

  async #build(of: EpochOf): Promise<Built | undefined> {
    const answer = await this.#makeEpoch(of)
    if ('disagree' in answer) this.#judge(answer.disagree)
    if (!('built' in answer)) return undefined
    this.#judge(undefined)
    return answer.built
  }

  async stop(): Promise<void> {
    this.#context.timers.clear(this.#timer)
    await this.#running
  }
}
