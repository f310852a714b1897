/**
 * Reads a chain of somebody record by record, as a stranger does who has its key history: form, own id, place, link and
 * the key of every record. Signatures are given out, because there are many and whoever reads knows how to check them.
 */
import type { VerifiedKel } from '../identity/kel.ts'
import { keyAt } from '../identity/kel.ts'
import {
  ChainInvalid,
  type ChainRecord,
  chainDid,
  FORK_ANCHOR,
  GENESIS,
  readRecord,
  signedBytes,
} from './evidence.ts'

/** What the signature of a record covers, and the key under which it must hold. */
export type ToVerify = { key: Uint8Array; message: Uint8Array; signature: Uint8Array }

/** One reading of a chain, objects §14; `events` counts the records of each event type. */
export class ChainReader {
  readonly owner: VerifiedKel
  readonly events = new Map<string, number>()
  #ids: Map<number, Uint8Array | undefined>
  #length = 0
  #head: Uint8Array = GENESIS
  #times: { first: number; last: number } | undefined
  #anchor: number | undefined

  /** `lengths`: at which the id of the last record will be asked for. `from`: where an earlier reader ended. */
  constructor(
    owner: VerifiedKel,
    lengths: readonly number[] = [],
    from?: { length: number; head: Uint8Array },
  ) {
    this.owner = owner
    this.#length = from?.length ?? 0
    this.#head = from?.head ?? GENESIS
    this.#ids = new Map(lengths.map(length => [length, length === 0 ? GENESIS : undefined]))
  }

  get length(): number {
    return this.#length
  }
  /** Id of the last record, or the genesis sentinel. */
  get head(): Uint8Array {
    return this.#head
  }
  /** Times that the first and the last record name. */
  get times(): { first: number; last: number } | undefined {
    return this.#times
  }
  /** Number of the record in which the owner keeps two ids of one number. */
  get anchor(): number | undefined {
    return this.#anchor
  }
  /** Id of the record that ends a chain of this length, where it was asked for and the chain is as long. */
  idAt(length: number): Uint8Array | undefined {
    return this.#ids.get(length)
  }

  /** The next record; throws {@link ChainInvalid} where it may not stand there. */
  add(bytes: Uint8Array): { record: ChainRecord; toVerify: ToVerify } {
    const place = { seq: this.#length, previous: this.#head, chainDid: chainDid(this.owner.aid) }
    const read = readRecord(bytes, place)
    const { record } = read
    const key = keyAt(this.owner, record.keyStateSeq)
    if (key === undefined) throw new ChainInvalid('key', record.seq)
    this.#length += 1
    this.#head = record.id
    this.#times = { first: this.#times?.first ?? record.ts, last: record.ts }
    if (record.eventType === FORK_ANCHOR) this.#anchor ??= record.seq
    if (this.#ids.has(this.#length)) this.#ids.set(this.#length, record.id)
    this.events.set(record.eventType, (this.events.get(record.eventType) ?? 0) + 1)
    return { record, toVerify: { key, message: signedBytes(read), signature: record.signature } }
  }
}
