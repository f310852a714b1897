/** What anybody may read of the hub's supply (hub API §4.4, §6), and the proof that an account gets for itself. */

import { ChainRecord } from '../../../protocol/proof/evidence.ts'
import { liabilitySalt, type PathStep } from '../../../protocol/proof/liability.ts'
import { type CreditChange, type Epoch, supplyEventOf } from '../../../protocol/proof/supply.ts'
import { type KeptEpoch, type LedgerStore, NAMES_LEVEL } from '../../store/ledger-port.ts'
import { proofOf } from './epochs.ts'

/** Records of one answer. */
const RECORDS_MAX = 200

export type PublishedRecord = {
  seq: number
  id: Uint8Array
  previous: Uint8Array
  kind: string
  atMs: number
  change: CreditChange | undefined
  record: Uint8Array
}
export type PublishedEpoch = { seq: number; id: Uint8Array; record: Uint8Array; epoch: Epoch }
export type LiabilityProof = {
  epoch: Epoch
  amount: number
  salt: Uint8Array
  path: PathStep[]
  record: Uint8Array
}

export class Publication {
  readonly #store: LedgerStore
  readonly #secret: () => Promise<Uint8Array>

  constructor(store: LedgerStore, secret: () => Promise<Uint8Array>) {
    this.#store = store
    this.#secret = secret
  }

  /** As many of the records as one answer has: reading one costs the hub more than asking for it. */
  async records(
    from: number,
    asked: number,
  ): Promise<{ entries: PublishedRecord[]; next: number | undefined }> {
    const limit = Math.min(asked, RECORDS_MAX)
    const rows = await this.#store.supplyRecords(from, limit + 1)
    const entries = rows.slice(0, limit).map(row => published(row))
    return { entries, next: rows.length > limit ? from + limit : undefined }
  }

  async newestEpoch(): Promise<PublishedEpoch> {
    const kept = await this.#store.keptEpoch(undefined)
    if (kept === undefined) throw new Error('a supply chain without an epoch')
    return await this.#epochAt(kept.seq)
  }

  /** The proof of an account in the epoch of a day, or in the newest; undefined where there is none. */
  async proof(aid: string, day: number | undefined): Promise<LiabilityProof | undefined> {
    const kept = await this.#store.keptEpoch(day)
    if (kept === undefined) return undefined
    if (!(await this.#hasTree(kept))) return undefined
    const secret = await this.#secret()
    const proof = await proofOf(this.#store, { ...kept, secret }, aid)
    if (proof === undefined) return undefined
    const { epoch, record } = await this.#epochAt(kept.seq)
    const salt = liabilitySalt(secret, aid, kept.day)
    return { epoch, ...proof, salt, record }
  }

  /** An epoch that came back after a restore has its record alone. */
  async #hasTree({ day, accounts }: KeptEpoch): Promise<boolean> {
    const first = { day, level: NAMES_LEVEL, piece: 0 }
    return accounts === 0 || (await this.#store.proofPiece(first)) !== undefined
  }

  async #epochAt(seq: number): Promise<PublishedEpoch> {
    const [row] = await this.#store.supplyRecords(seq, 1)
    const event = row === undefined ? undefined : supplyEventOf(ChainRecord.decode(row.record))
    if (row === undefined || event?.kind !== 'epoch')
      throw new Error(`record ${seq} of the supply chain is no epoch`)
    return { ...row, epoch: event.epoch }
  }
}

function published({
  seq,
  id,
  record,
}: {
  seq: number
  id: Uint8Array
  record: Uint8Array
}): PublishedRecord {
  const parsed = ChainRecord.decode(record)
  const event = supplyEventOf(parsed)
  const change = event.kind === 'issued' || event.kind === 'retired' ? event.change : undefined
  return { seq, id, previous: parsed.previous, kind: parsed.eventType, atMs: parsed.ts, change, record }
}
