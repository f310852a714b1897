/**
 * Reads a hub's supply chain record by record (objects: supply): form, links, keys, what was issued and retired, and
 * whether each epoch says what the records before it add up to. A later reading goes on where an earlier one ended.
 */
import { verify } from '#crypto'
import { cidText } from '../crypto/hash.ts'
import { equal } from '../encoding/bytes.ts'
import type { VerifiedKel } from '../identity/kel.ts'
import { ChainReader } from './chain-reader.ts'
import { ChainRecord, chainDid, GENESIS, readRecord } from './evidence.ts'
import { type Epoch, epochFault, supplyEventOf } from './supply.ts'

/** A place in a chain: records, id of the last one, and sums since the beginning. */
export type SupplyPlace = { length: number; head: Uint8Array; issued: number; retired: number }
/** Before record 0: nothing issued, and the genesis sentinel as the head (objects §19). */
export const supplyStart: SupplyPlace = { length: 0, head: GENESIS, issued: 0, retired: 0 }

/** What can't be true in a supply chain, and in which record. */
export class SupplyFault extends Error {
  override name = 'SupplyFault'
  constructor(what: string, seq: number) {
    super(`record ${seq} of the supply chain: ${what}`)
  }
}

type Options = {
  /** Whose records are verified beside epochs; all of them where it is undefined. */
  own: string | undefined
  from?: SupplyPlace
}

/** Sums in credits; verifies signatures of epochs, of `own` records and of the last one (objects §19). */
export class SupplyReader {
  readonly #chain: ChainReader
  readonly #own: string | undefined
  #issued: number
  #retired: number
  /** Sums after each record of this reading; an epoch names the last one that it counts. */
  readonly #sums: { issued: number; retired: number }[] = []
  readonly #from: SupplyPlace
  #place: SupplyPlace
  #last: (() => boolean) | undefined
  #epoch: { epoch: Epoch; seq: number } | undefined
  #before: Epoch | undefined

  constructor(hub: VerifiedKel, { own, from = supplyStart }: Options) {
    this.#chain = new ChainReader(hub, [], from)
    this.#own = own
    this.#from = from
    this.#place = from
    this.#issued = from.issued
    this.#retired = from.retired
  }

  /** What was issued and retired in all. */
  get sums(): { issued: number; retired: number } {
    return { issued: this.#issued, retired: this.#retired }
  }

  /** Number of records, and the id of the last one. */
  get head(): { length: number; head: Uint8Array } {
    const { length, head } = this.#chain
    return { length, head }
  }

  /** Where a later reading goes on: after the last epoch, because the next one counts no record before it alone. */
  get place(): SupplyPlace {
    return this.#place
  }

  /** The last epoch of this reading. */
  get epoch(): { epoch: Epoch; seq: number } | undefined {
    return this.#epoch
  }

  /** The same, or the one with which the earlier reading ended, where it was shown {@link again}. */
  get newest(): Epoch | undefined {
    return this.#epoch?.epoch ?? this.#before
  }

  /** The record with which the earlier reading ended; throws {@link SupplyFault} where it is another one. */
  again(bytes: Uint8Array): void {
    const { length, head } = this.#from
    const { previous } = ChainRecord.decode(bytes)
    const place = { seq: length - 1, previous, chainDid: chainDid(this.#chain.owner.aid) }
    const { record } = readRecord(bytes, place)
    if (!equal(record.id, head))
      throw new SupplyFault(`the hub showed another one before, ${cidText(head)}`, length - 1)
    const event = supplyEventOf(record)
    if (event.kind === 'epoch') this.#before = event.epoch
  }

  /** The next record; throws {@link SupplyFault}, and what a chain reader throws. */
  add(bytes: Uint8Array): void {
    const { record, toVerify } = this.#chain.add(bytes)
    const { key, message, signature } = toVerify
    const holds = () => verify(key, message, signature)
    const event = supplyEventOf(record)
    if (event.kind === 'issued') this.#issued += event.change.amount
    if (event.kind === 'retired') this.#retired += event.change.amount
    this.#sums.push({ issued: this.#issued, retired: this.#retired })
    const isOwn = (event.kind === 'issued' || event.kind === 'retired') && event.change.aid === this.#own
    const matters = this.#own === undefined || isOwn || event.kind === 'epoch'
    if (matters && !holds()) throw new SupplyFault('the signature of the hub does not hold', record.seq)
    this.#last = matters ? undefined : holds
    if (event.kind === 'epoch') this.#checkEpoch(event.epoch, record.seq)
  }

  /** Everything was read: the head is signed. */
  end(): void {
    if (this.#last?.() === false)
      throw new SupplyFault('the signature of the hub does not hold', this.#chain.length - 1)
  }

  #checkEpoch(epoch: Epoch, seq: number): void {
    const fault = epochFault(epoch, seq)
    if (fault !== undefined) throw new SupplyFault(fault, seq)
    const counted = epoch.chain_hw - this.#from.length
    const sums = counted === -1 ? this.#from : this.#sums[counted]
    if (seq > 0 && (epoch.issued !== sums?.issued || epoch.retired !== sums.retired))
      throw new SupplyFault('an epoch says something else than the records before it', seq)
    if (this.#epoch !== undefined && epoch.from_day <= this.#epoch.epoch.day)
      throw new SupplyFault('an epoch counts a day again', seq)
    this.#epoch = { epoch, seq }
    this.#place = { ...this.head, issued: this.#issued, retired: this.#retired }
  }
}
