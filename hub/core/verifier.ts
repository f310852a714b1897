/**
 * Signature checks on a thread of their own. What arrives in one turn of the event loop goes over as one batch: waking
 * another thread costs about as much as a check, and the loop that answers requests must not be held by either.
 */
import { Worker } from 'node:worker_threads'
import { type Check, packChecks } from './check-batch.ts'
import { Refusal } from './refusal.ts'
import type { EngineChoice } from './signature-engine.ts'

const WORKER_FILE = new URL(
  import.meta.url.endsWith('.ts') ? './verify-worker.ts' : './verify-worker.js',
  import.meta.url,
)

/** What a check needs lives for one batch only. */
const YOUNG_MIB = 2
/** One batch is checked, one lies ready; more would only wake the thread more often. */
const BATCHES_MAX = 2

/** `standard` leaves the optional engine out. */
export type VerifierOptions = { standard?: boolean }
/** Verdicts come in the order of the checks, in chunks. */
export type FromVerifier = { engine: EngineChoice } | { verdicts: boolean[] }

type Waiting = { resolve: (verdict: boolean) => void; reject: (error: Error) => void }

export class Verifier {
  readonly #max: number
  readonly #options: VerifierOptions
  /** Whose verdicts are still to come, in the order of the checks. */
  #posted: Waiting[] = []
  /** How many checks each batch has left whose verdicts are still to come. */
  #batches: number[] = []
  #worker: Worker | undefined
  #engine = makeEngine()
  #checks: Check[] = []
  #waiting: Waiting[] = []

  /** `max` checks may be under way at once; more are refused as overload. */
  constructor(max: number, options: VerifierOptions = {}) {
    this.#max = max
    this.#options = options
  }

  /** Whether the signature is valid; strict, as everywhere a verdict decides what is stored. */
  verify(key: Uint8Array, message: Uint8Array, signature: Uint8Array): Promise<boolean> {
    if (this.#posted.length + this.#waiting.length >= this.#max)
      return Promise.reject(new Refusal('overloaded'))
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject })
      this.#checks.push({ key, message, signature })
      if (this.#checks.length === 1) setImmediate(() => this.#post())
    })
  }

  /** Which engine verifies. */
  engine(): Promise<EngineChoice> {
    this.#ensureWorker()
    return this.#engine.promise
  }

  async close(): Promise<void> {
    await this.#worker?.terminate()
  }

  #post(): void {
    if (this.#checks.length === 0 || this.#batches.length >= BATCHES_MAX) return
    const batch = packChecks(this.#checks)
    this.#batches.push(this.#checks.length)
    this.#posted.push(...this.#waiting)
    this.#waiting = []
    this.#checks = []
    this.#ensureWorker().postMessage(batch, [batch.lengths.buffer, batch.bytes.buffer])
  }

  #ensureWorker(): Worker {
    if (this.#worker !== undefined) return this.#worker
    const worker = new Worker(WORKER_FILE, {
      name: 'svc-hub-verify',
      workerData: this.#options,
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MIB },
    })
    worker.unref()
    worker.on('message', (message: FromVerifier) => {
      if ('engine' in message) this.#engine.resolve(message.engine)
      else this.#settle(message.verdicts)
    })
    worker.on('error', (error: Error) => this.#fail(error))
    this.#worker = worker
    return worker
  }

  #settle(verdicts: boolean[]): void {
    const answered = this.#posted.splice(0, verdicts.length)
    const left = (this.#batches[0] ?? 0) - verdicts.length
    if (left > 0) this.#batches[0] = left
    else this.#batches.shift()
    answered.forEach((one, index) => {
      one.resolve(verdicts[index] === true)
    })
    this.#post()
  }

  /** The next check starts a new thread; those under way have no verdict. */
  #fail(error: Error): void {
    const failed = [...this.#posted, ...this.#waiting]
    this.#worker = undefined
    this.#engine.reject(error)
    this.#engine = makeEngine()
    this.#posted = []
    this.#batches = []
    this.#waiting = []
    this.#checks = []
    for (const one of failed) one.reject(error)
  }
}

/** Nobody has to wait for the engine to be named. */
function makeEngine(): PromiseWithResolvers<EngineChoice> {
  const engine = Promise.withResolvers<EngineChoice>()
  engine.promise.catch(() => undefined)
  return engine
}
