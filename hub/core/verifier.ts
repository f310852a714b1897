/**
 * Signature checks on a thread of their own. What arrives in one turn of the event loop goes over as one batch: waking
 * another thread costs about as much as a check, and the loop that answers requests must not be held by either.
 */
import { Worker } from 'node:worker_threads'
import { Refusal } from './refusal.ts'

const WORKER_FILE = new URL(
  import.meta.url.endsWith('.ts') ? './verify-worker.ts' : './verify-worker.js',
  import.meta.url,
)

/** What a check needs lives for one batch only. */
const YOUNG_MIB = 2
/** One batch is checked, one lies ready; more would only wake the thread more often. */
const BATCHES_MAX = 2

export type Check = { key: Uint8Array; message: Uint8Array; signature: Uint8Array }
export type Checks = { ticket: number; checks: Check[] }
export type Verdicts = { ticket: number; verdicts: boolean[] }

type Waiting = { resolve: (verdict: boolean) => void; reject: (error: Error) => void }

export class Verifier {
  readonly #max: number
  readonly #batches = new Map<number, Waiting[]>()
  #worker: Worker | undefined
  #checks: Check[] = []
  #waiting: Waiting[] = []
  #ticket = 0
  #running = 0

  /** `max` checks may be under way at once; more are refused as overload. */
  constructor(max: number) {
    this.#max = max
  }

  /** Whether the signature is valid; strict, as everywhere a verdict decides what is stored. */
  verify(key: Uint8Array, message: Uint8Array, signature: Uint8Array): Promise<boolean> {
    if (this.#running >= this.#max) return Promise.reject(new Refusal('overloaded'))
    this.#running += 1
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject })
      this.#checks.push({ key, message, signature })
      if (this.#checks.length === 1) setImmediate(() => this.#post())
    })
  }

  async close(): Promise<void> {
    await this.#worker?.terminate()
  }

  #post(): void {
    if (this.#checks.length === 0 || this.#batches.size >= BATCHES_MAX) return
    const ticket = this.#ticket++
    this.#batches.set(ticket, this.#waiting)
    const checks = this.#checks
    this.#waiting = []
    this.#checks = []
    this.#ensureWorker().postMessage({ ticket, checks } satisfies Checks)
  }

  #ensureWorker(): Worker {
    if (this.#worker !== undefined) return this.#worker
    const worker = new Worker(WORKER_FILE, {
      name: 'svc-hub-verify',
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MIB },
    })
    worker.unref()
    worker.on('message', ({ ticket, verdicts }: Verdicts) => {
      const waiting = this.#batches.get(ticket) ?? []
      this.#batches.delete(ticket)
      this.#running -= waiting.length
      waiting.forEach((one, index) => {
        one.resolve(verdicts[index] === true)
      })
      this.#post()
    })
    worker.on('error', (error: Error) => this.#fail(error))
    this.#worker = worker
    return worker
  }

  /** The next check starts a new thread; those under way have no verdict. */
  #fail(error: Error): void {
    this.#worker = undefined
    for (const batch of [...this.#batches.values(), this.#waiting]) for (const one of batch) one.reject(error)
    this.#batches.clear()
    this.#waiting = []
    this.#checks = []
    this.#running = 0
  }
}
