/** For tests: clients at work on several processes of one hub, and all that their histories hold. */
import { setTimeout as pause } from 'node:timers/promises'
import type { ClusterProcess, TestCluster } from './cluster.ts'
import { PaymentsHistory } from './cluster-payments.ts'
import { isGone } from './crash-history.ts'
import { MailboxHistory } from './crash-mailbox.ts'

const MAILBOXES = 3
const SENDERS_EACH = 2
const STATUS_EVERY = 5
const PAYERS = 2
const AGAIN_MS = 20

export class ClusterHistory {
  readonly #cluster: TestCluster
  readonly #mailboxes: MailboxHistory[] = []
  readonly #payments: PaymentsHistory
  #turn = 0

  private constructor(cluster: TestCluster, payments: PaymentsHistory) {
    this.#cluster = cluster
    this.#payments = payments
  }

  static async on(cluster: TestCluster): Promise<ClusterHistory> {
    const history = new ClusterHistory(cluster, await PaymentsHistory.on(cluster))
    for (let n = 0; n < MAILBOXES; n++)
      history.#mailboxes.push(new MailboxHistory(await cluster.agent(history.#next())))
    return history
  }

  get answered(): number {
    return this.#mailboxes.reduce((sum, box) => sum + box.answered, 0)
  }

  /** Payments that were made. */
  get paid(): number {
    return this.#payments.answered
  }

  /** Each in turn, so that what one process did is asked of another. */
  #next(): ClusterProcess {
    const { processes } = this.#cluster
    return processes[this.#turn++ % processes.length] as ClusterProcess
  }

  /** All clients send, collect, ask and pay, while `meanwhile` goes on; who meets nobody goes to another process. */
  async during(meanwhile: () => Promise<void>): Promise<void> {
    const over = new AbortController()
    const working = this.#mailboxes.flatMap(box => [
      ...Array.from({ length: SENDERS_EACH }, () => this.#keepOn(over.signal, at => box.send(at))),
      this.#keepOn(over.signal, async (at, n) => {
        box.agent.target = at
        await (n % STATUS_EVERY === STATUS_EVERY - 1 ? box.status(at) : box.collect())
      }),
    ])
    for (let n = 0; n < PAYERS; n++) working.push(this.#keepOn(over.signal, at => this.#payments.pay(at)))
    // told once all have ended
    const ended = Promise.allSettled(working)
    try {
      await meanwhile()
    } finally {
      over.abort()
      await ended
    }
    await Promise.all(working)
  }

  async #keepOn(over: AbortSignal, operate: (at: ClusterProcess, n: number) => Promise<void>): Promise<void> {
    for (let n = 0; !over.aborted; n++)
      try {
        await operate(this.#next(), n)
      } catch (error) {
        if (!isGone(error) && !isForgotten(error)) throw error
        await pause(AGAIN_MS)
      }
  }

  /** Compares what is there with every history, at one process and then at another; tells what is wrong. */
  async compare(): Promise<string[]> {
    for (const box of this.#mailboxes) {
      const at = this.#next()
      box.agent.target = at
      await box.compare(at)
    }
    const ofPayments = await this.#payments.compare(this.#next())
    return [...this.#mailboxes.flatMap(({ faults }) => faults), ...ofPayments]
  }
}

/** What was signed before the database crashed is not taken after it, and is signed again. */
const isForgotten = (error: unknown): boolean => error instanceof Error && /ts_stale/.test(error.message)
