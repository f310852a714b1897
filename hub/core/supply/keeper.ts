/**
 * Keeps the books of the hub: each day's epoch at the first turn after midnight, trial credits that are due, holds that
 * have lapsed. What a stopped hub missed comes at the next start.
 */
import { Worker } from 'node:worker_threads'
import type { SupplyHead } from '../../store/ledger-port.ts'
import type { HubContext } from '../context.ts'
import type { Credits } from '../ledger/credits.ts'
import type { Issuance } from '../ledger/issuance.ts'
import { DAY_MS, HOUR_MS } from '../limits.ts'
import type { SupplyChain } from './chain.ts'
import type { EpochGiven, FromEpochWorker } from './epoch-worker.ts'
import type { Built } from './epochs.ts'
import { chainHeld, heldSentence } from './held.ts'
import type { Publication, PublishedEpoch } from './publication.ts'
import { liabilitySecret } from './secret.ts'

const LOOK_EVERY_MS = 60_000
const TRIALS_AT_ONCE = 200
const WORKER_FILE = new URL(
  import.meta.url.endsWith('.ts') ? './epoch-worker.ts' : './epoch-worker.js',
  import.meta.url,
)

type Parts = { supply: SupplyChain; credits: Credits; issuance: Issuance; publication: Publication }

export class BookKeeper {
  readonly #context: HubContext
  readonly #supply: SupplyChain
  readonly #credits: Credits
  readonly #issuance: Issuance
  readonly #publication: Publication
  readonly #timer: NodeJS.Timeout
  #running: Promise<void> = Promise.resolve()
  #trialsAtMs = 0
  /** The books do not agree, and the operator knows: no epoch is written and nothing is paid until they do. */
  #disagreeing = false
  #heldWhy: string | undefined

  constructor(context: HubContext, { supply, credits, issuance, publication }: Parts) {
    this.#context = context
    this.#supply = supply
    this.#credits = credits
    this.#issuance = issuance
    this.#publication = publication
    this.#timer = setInterval(() => void this.turn(), LOOK_EVERY_MS)
    this.#timer.unref()
    void this.turn()
  }

  /** One turn of all that is due; turns follow each other. */
  turn(): Promise<void> {
    this.#running = this.#running.then(() => this.#turn())
    return this.#running
  }

  async #turn(): Promise<void> {
    await this.#told('lapsed holds', () => this.#endHolds())
    await this.#told('trial credits', () => this.#giveTrials())
    await this.#told('the epoch of the day', () => this.#writeEpoch())
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

  /** On a thread of its own with its own reader: a hundred thousand accounts hold up no send. */
  async #build(given: Omit<EpochGiven, 'path'>): Promise<Built | undefined> {
    const { path } = this.#context.store
    const worker = new Worker(WORKER_FILE, {
      name: 'svc-hub-epoch',
      workerData: { path, ...given } satisfies EpochGiven,
    })
    const { promise, resolve, reject } = Promise.withResolvers<FromEpochWorker>()
    worker.once('message', resolve)
    worker.once('error', reject)
    worker.once('exit', () => reject(new Error('the thread that makes epochs ended')))
    const answer = await promise
    if ('built' in answer) {
      this.#disagreeing = false
      this.#credits.stopped = false
      return answer.built
    }
    this.#credits.stopped = true
    if (!this.#disagreeing) this.#context.alert('the books do not agree; nothing is paid', answer.disagree)
    this.#disagreeing = true
    return undefined
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#running
  }
}
