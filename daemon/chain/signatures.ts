/**
 * The signatures of many records, checked on all cores: full batches go to threads, and while these are busy the thread
 * that reads the records checks a batch itself; with the faster engine where it is installed.
 */
import { createRequire } from 'node:module'
import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import { verify } from '#crypto'
import { installedEngine, type Verify } from '../../protocol/crypto/signature-engine.ts'
import { nextTurn } from '../../protocol/timers.ts'

const BATCH_RECORDS = 256
/** Batches that wait at a thread, the one that it works on included. */
const BATCHES_AT_THREAD = 2
const THREADS_MAX = 3
const KEY_BYTES = 32
const SIGNATURE_BYTES = 64
const LENGTH_BYTES = 4
const WORKER_FILE = new URL(
  import.meta.url.endsWith('.ts') ? './signature-worker.ts' : './signature-worker.js',
  import.meta.url,
)

/** Sequence number of the first record, and of every record: length of the message, key, signature, message. */
export type Batch = { firstSeq: number; packed: Uint8Array<ArrayBuffer> }

type Signed = { key: Uint8Array; message: Uint8Array; signature: Uint8Array }

/** The fastest engine that gives our verdicts on this machine. */
export const fastestVerify = (): Verify => installedEngine(createRequire(import.meta.url)).verify

/** The first record of a batch whose signature does not hold; undefined when all do. */
export function firstBad({ firstSeq, packed }: Batch, verify: Verify): number | undefined {
  const view = new DataView(packed.buffer, packed.byteOffset)
  let offset = 0
  for (let seq = firstSeq; offset < packed.length; seq++) {
    const length = view.getUint32(offset)
    const keyAt = offset + LENGTH_BYTES
    const signatureAt = keyAt + KEY_BYTES
    const messageAt = signatureAt + SIGNATURE_BYTES
    offset = messageAt + length
    const key = packed.subarray(keyAt, signatureAt)
    if (!verify(key, packed.subarray(messageAt, offset), packed.subarray(signatureAt, messageAt))) return seq
  }
  return undefined
}

function pack(firstSeq: number, records: readonly Signed[]): Batch {
  const fixed = LENGTH_BYTES + KEY_BYTES + SIGNATURE_BYTES
  const size = records.reduce((sum, { message }) => sum + fixed + message.length, 0)
  const packed = new Uint8Array(size)
  const view = new DataView(packed.buffer)
  let offset = 0
  for (const { key, message, signature } of records) {
    view.setUint32(offset, message.length)
    packed.set(key, offset + LENGTH_BYTES)
    packed.set(signature, offset + LENGTH_BYTES + KEY_BYTES)
    packed.set(message, offset + fixed)
    offset += fixed + message.length
  }
  return { firstSeq, packed }
}

class Thread {
  open = 0
  #worker = new Worker(WORKER_FILE)

  constructor(done: (bad: number | undefined) => void, failed: (error: unknown) => void) {
    this.#worker.on('message', (bad: number | undefined) => {
      this.open -= 1
      done(bad)
    })
    this.#worker.on('error', failed)
  }

  give(batch: Batch): void {
    this.open += 1
    this.#worker.postMessage(batch, [batch.packed.buffer])
  }

  async close(): Promise<void> {
    await this.#worker.terminate()
  }
}

/** Signatures of records in the order of their numbers. */
export class SignatureChecks implements AsyncDisposable {
  #records: Signed[] = []
  #nextSeq: number
  #threads: Thread[] | undefined
  /** Few signatures are not worth loading another engine for. */
  #verify: Verify = verify
  #bad: number | undefined
  #failure: { error: unknown } | undefined

  constructor(firstSeq: number) {
    this.#nextSeq = firstSeq
  }

  /** The lowest record known so far whose signature does not hold. */
  get bad(): number | undefined {
    return this.#bad
  }

  /** Takes the next record; resolves when there is room for another one. */
  async add(record: Signed): Promise<void> {
    this.#records.push(record)
    if (this.#records.length < BATCH_RECORDS) return
    this.#threads ??= this.#start()
    const batch = this.#take()
    const thread = this.#threads.find(({ open }) => open < BATCHES_AT_THREAD)
    if (thread === undefined) this.#note(firstBad(batch, this.#verify))
    else thread.give(batch)
    // Lets the threads report.
    await nextTurn()
    this.#throwFailure()
  }

  /** Checks what is left and waits for the threads; returns the first record whose signature does not hold. */
  async end(): Promise<number | undefined> {
    this.#note(firstBad(this.#take(), this.#verify))
    while (this.#threads?.some(({ open }) => open > 0)) {
      this.#throwFailure()
      await nextTurn()
    }
    this.#throwFailure()
    return this.#bad
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all((this.#threads ?? []).map(thread => thread.close()))
  }

  #take(): Batch {
    const batch = pack(this.#nextSeq, this.#records)
    this.#nextSeq += this.#records.length
    this.#records = []
    return batch
  }

  #start(): Thread[] {
    this.#verify = fastestVerify()
    const count = Math.min(availableParallelism() - 1, THREADS_MAX)
    const failed = (error: unknown) => {
      this.#failure ??= { error }
    }
    return Array.from({ length: count }, () => new Thread(bad => this.#note(bad), failed))
  }

  #note(bad: number | undefined): void {
    if (bad !== undefined && bad < (this.#bad ?? Number.POSITIVE_INFINITY)) this.#bad = bad
  }

  #throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure.error
  }
}
