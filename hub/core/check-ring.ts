/**
 * Signature checks on their way from one thread to another, and their verdicts back, in memory that both share. A
 * check is seen by the other thread as soon as it is put; neither side waits for the other's turn of its event loop,
 * and nothing is serialized or collected on the way. One thread puts checks and takes verdicts, one other does the
 * reverse.
 */
import { SIGNATURE_BYTES } from '../../protocol/crypto/signed.ts'

export type Check = { key: Uint8Array; message: Uint8Array; signature: Uint8Array }

const KEY_BYTES = 32
/** Where each counter stands; the first three only grow. */
const PUT = 0
const TAKEN = 1
const JUDGED = 2
const ASLEEP = 3
const TOLD = 4
const COUNTERS = 5

const WORD = 4
const RING_BYTES = 128 * 1024
const VERDICTS = 1024
/** While checks are waiting, so many verdicts go together: being told costs the asking side as much as a few of them. */
const TOLD_AT_LEAST = 16
/** Where a check did not fit before the end of the ring: the next one stands at its start. */
const SKIP = 0xffff_ffff

/** A message of at most so many bytes can be checked; nothing that a hub verifies comes near. */
export const MESSAGE_BYTES_MAX = RING_BYTES / 2 - WORD - KEY_BYTES - SIGNATURE_BYTES

/** What one thread hands to the other when it starts it. */
export type SharedRing = {
  counters: SharedArrayBuffer
  checks: SharedArrayBuffer
  verdicts: SharedArrayBuffer
}

/** An empty ring; its counters begin at `first`, a multiple of four. */
export function shareRing(first = 0): SharedRing {
  const counters = new SharedArrayBuffer(COUNTERS * WORD)
  new Int32Array(counters).fill(first, PUT, JUDGED + 1)
  return {
    counters,
    checks: new SharedArrayBuffer(RING_BYTES),
    verdicts: new SharedArrayBuffer(VERDICTS),
  }
}

/** Whether key and signature have the lengths that every valid check has. */
export const isWhole = ({ key, signature }: Check): boolean =>
  key.length === KEY_BYTES && signature.length === SIGNATURE_BYTES

/** Counters run over at 2³², which is a multiple of both sizes. */
const later = (counter: number, by: number): number => (counter + by) | 0
const distance = (from: number, to: number): number => (to - from) >>> 0
const recordBytes = (message: number): number =>
  Math.ceil((WORD + KEY_BYTES + SIGNATURE_BYTES + message) / WORD) * WORD

/** The end of whoever asks. */
export class Asking {
  readonly #counters: Int32Array
  readonly #words: Uint32Array
  readonly #bytes: Uint8Array
  readonly #verdicts: Uint8Array
  #put: number
  #asked: number
  #answered: number

  constructor({ counters, checks, verdicts }: SharedRing) {
    this.#counters = new Int32Array(counters)
    this.#words = new Uint32Array(checks)
    this.#bytes = new Uint8Array(checks)
    this.#verdicts = new Uint8Array(verdicts)
    this.#put = Atomics.load(this.#counters, PUT)
    this.#asked = Atomics.load(this.#counters, JUDGED)
    this.#answered = this.#asked
  }

  /** Puts a check and wakes the other thread where it sleeps; false where there is no room until verdicts come. */
  put({ key, message, signature }: Check): boolean {
    if (distance(this.#answered, this.#asked) === VERDICTS) return false
    const size = recordBytes(message.length)
    const start = this.#room(size)
    if (start === undefined) return false
    this.#words[start / WORD] = message.length
    this.#bytes.set(key, start + WORD)
    this.#bytes.set(signature, start + WORD + KEY_BYTES)
    this.#bytes.set(message, start + WORD + KEY_BYTES + SIGNATURE_BYTES)
    this.#asked = later(this.#asked, 1)
    this.#put = later(this.#put, size)
    Atomics.store(this.#counters, PUT, this.#put)
    if (Atomics.exchange(this.#counters, ASLEEP, 0) === 1) Atomics.notify(this.#counters, PUT)
    return true
  }

  /** The verdicts that have come since the last look; after it the other thread tells again of new ones. */
  take(): boolean[] {
    Atomics.store(this.#counters, TOLD, 0)
    const judged = Atomics.load(this.#counters, JUDGED)
    const come = Array.from(
      { length: distance(this.#answered, judged) },
      (_, at) => this.#verdicts[later(this.#answered, at) & (VERDICTS - 1)] === 1,
    )
    this.#answered = judged
    return come
  }

  /** Where a record of that size can stand, in one piece. */
  #room(size: number): number | undefined {
    const free = RING_BYTES - distance(Atomics.load(this.#counters, TAKEN), this.#put)
    const at = this.#put & (RING_BYTES - 1)
    const rest = RING_BYTES - at
    if (size <= rest) return size <= free ? at : undefined
    if (rest + size > free) return undefined
    this.#words[at / WORD] = SKIP
    this.#put = later(this.#put, rest)
    return 0
  }
}

/** The end of whoever answers. */
export class Answering {
  readonly #counters: Int32Array
  readonly #words: Uint32Array
  readonly #bytes: Uint8Array
  readonly #verdicts: Uint8Array
  #taken: number
  #judged: number
  /** The check that is judged; it stays here until the next is read. */
  readonly #copy = new Uint8Array(KEY_BYTES + SIGNATURE_BYTES + MESSAGE_BYTES_MAX)
  readonly #key = this.#copy.subarray(0, KEY_BYTES)
  readonly #signature = this.#copy.subarray(KEY_BYTES, KEY_BYTES + SIGNATURE_BYTES)
  #untold = 0

  constructor({ counters, checks, verdicts }: SharedRing) {
    this.#counters = new Int32Array(counters)
    this.#words = new Uint32Array(checks)
    this.#bytes = new Uint8Array(checks)
    this.#verdicts = new Uint8Array(verdicts)
    this.#taken = Atomics.load(this.#counters, TAKEN)
    this.#judged = Atomics.load(this.#counters, JUDGED)
  }

  /**
   * Judges the next check, for which it sleeps until there is one; its bytes are lent to `judge` for that long. True when the other side must be told: nothing is
   * left to judge, or enough has been, and it has looked for verdicts since it was told last.
   */
  answer(judge: (check: Check) => boolean): boolean {
    this.#sleepUntilPut()
    const length = this.#words[this.#at() / WORD] as number
    const verdict = judge(this.#read(length))
    this.#free(recordBytes(length))
    this.#verdicts[this.#judged & (VERDICTS - 1)] = verdict ? 1 : 0
    this.#judged = later(this.#judged, 1)
    Atomics.store(this.#counters, JUDGED, this.#judged)
    this.#untold += 1
    if (this.#untold < TOLD_AT_LEAST && !this.#isEmpty()) return false
    this.#untold = 0
    return Atomics.exchange(this.#counters, TOLD, 1) === 0
  }

  #at(): number {
    return this.#taken & (RING_BYTES - 1)
  }

  #isEmpty(): boolean {
    return Atomics.load(this.#counters, PUT) === this.#taken
  }

  #sleepUntilPut(): void {
    const counters = this.#counters
    while (this.#isEmpty()) {
      Atomics.store(counters, ASLEEP, 1)
      Atomics.wait(counters, PUT, this.#taken)
    }
    if (this.#words[this.#at() / WORD] === SKIP) this.#free(RING_BYTES - this.#at())
  }

  /** Copies: no engine need know of shared memory. */
  #read(length: number): Check {
    const start = this.#at() + WORD
    const end = KEY_BYTES + SIGNATURE_BYTES + length
    this.#copy.set(this.#bytes.subarray(start, start + end))
    const message = this.#copy.subarray(KEY_BYTES + SIGNATURE_BYTES, end)
    return { key: this.#key, signature: this.#signature, message }
  }

  #free(size: number): void {
    this.#taken = later(this.#taken, size)
    Atomics.store(this.#counters, TAKEN, this.#taken)
  }
}
