/**
 * Signature checks on a thread of their own: the loop that answers requests must not be held by them. The thread begins
 * with a check at once, while the loop still reads what else has come.
 */
import { Worker } from 'node:worker_threads'
import type { EngineChoice } from '../../protocol/crypto/signature-engine.ts'
import { Asking, type Check, isWhole, MESSAGE_BYTES_MAX, type SharedRing, shareRing } from './check-ring.ts'
import { Refusal } from './refusal.ts'

const WORKER_FILE = new URL(
  import.meta.url.endsWith('.ts') ? './verify-worker.ts' : './verify-worker.js',
  import.meta.url,
)

/** What a check needs lives for that check only. */
const YOUNG_MIB = 1

/** `standard` leaves the optional engine out. */
export type VerifierOptions = { standard?: boolean }
export type VerifierStart = VerifierOptions & { ring: SharedRing }
/** Verdicts themselves lie in the ring, in the order of the checks. */
export type FromVerifier = EngineChoice | 'judged'

type Waiting = { resolve: (verdict: boolean) => void; reject: (error: Error) => void }
type Thread = { worker: Worker; asking: Asking }

export class Verifier {
  readonly #max: number
  readonly #options: VerifierOptions
  readonly #onFailed: (error: Error) => void
  /** Whose verdicts are still to come, in the order of the checks. */
  #waiting: Waiting[] = []
  /** Checks that the ring has no room for yet. */
  #backlog: Check[] = []
  #thread: Thread | undefined
  #engine = makeEngine()

  /** `max` checks may be under way at once; more are refused as overload. `onFailed` hears of a thread that ended. */
  constructor(
    max: number,
    options: VerifierOptions = {},
    onFailed: (error: Error) => void = () => undefined,
  ) {
    this.#max = max
    this.#options = options
    this.#onFailed = onFailed
  }

  /** Whether the signature is valid; strict, as everywhere a verdict decides what is stored. */
  verify(key: Uint8Array, message: Uint8Array, signature: Uint8Array): Promise<boolean> {
    if (this.#waiting.length >= this.#max) return Promise.reject(new Refusal('overloaded'))
    const check = { key, message, signature }
    if (!isWhole(check)) return Promise.resolve(false)
    if (message.length > MESSAGE_BYTES_MAX)
      return Promise.reject(new RangeError(`a signed message of ${message.length} bytes`))
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject })
      this.#backlog.push(check)
      this.#fill(this.#ensureThread())
    })
  }

  /** Which engine verifies. */
  engine(): Promise<EngineChoice> {
    this.#ensureThread()
    return this.#engine.promise
  }

  async close(): Promise<void> {
    await this.#thread?.worker.terminate()
  }

  #fill({ asking }: Thread): void {
    const stays = this.#backlog.findIndex(check => !asking.put(check))
    this.#backlog.splice(0, stays < 0 ? this.#backlog.length : stays)
  }

  #ensureThread(): Thread {
    if (this.#thread !== undefined) return this.#thread
    const ring = shareRing()
    const worker = new Worker(WORKER_FILE, {
      name: 'svc-hub-verify',
      workerData: { ...this.#options, ring } satisfies VerifierStart,
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MIB },
    })
    const thread = { worker, asking: new Asking(ring) }
    worker.unref()
    worker.on('message', (message: FromVerifier) => {
      if (message !== 'judged') this.#engine.resolve(message)
      // a thread that ended has no verdicts left that anybody waits for
      else if (thread === this.#thread) this.#settle(thread)
    })
    worker.on('error', (error: Error) => this.#fail(error))
    this.#thread = thread
    return thread
  }

  #settle(thread: Thread): void {
    const verdicts = thread.asking.take()
    const answered = this.#waiting.splice(0, verdicts.length)
    this.#fill(thread)
    answered.forEach((one, index) => {
      one.resolve(verdicts[index] === true)
    })
  }

  /** The next check starts a new thread; those under way have no verdict. */
  #fail(error: Error): void {
    const failed = this.#waiting
    this.#thread = undefined
    this.#engine.reject(error)
    this.#engine = makeEngine()
    this.#waiting = []
    this.#backlog = []
    for (const one of failed) one.reject(error)
    this.#onFailed(error)
  }
}

/** Nobody has to wait for the engine to be named. */
function makeEngine(): PromiseWithResolvers<EngineChoice> {
  const engine = Promise.withResolvers<EngineChoice>()
  engine.promise.catch(() => undefined)
  return engine
}
