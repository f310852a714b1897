/**
 * How much of the chain is verified, as it grows: a signed count and digest that spares the next open the signatures
 * before it (docs/decisions: a signed checkpoint spares signatures, not hashes).
 */

import { createHash, type Hash } from 'node:crypto'
import { labelledSign, labelledVerify } from '../../protocol/crypto/hash.ts'
import { equal, Malformed } from '../../protocol/encoding/bytes.ts'
import { decode, encode } from '../../protocol/encoding/cbor.ts'
import { keyAt } from '../../protocol/identity/kel.ts'
import {
  ChainInvalid,
  chainDid,
  GENESIS,
  readRecord,
  recordSignatureHolds,
} from '../../protocol/proof/evidence.ts'
import type { Identity } from '../identity/identity.ts'
import { keepLasting, lasting } from '../store/lasting.ts'
import type { Store } from '../store/open.ts'

const CHECKPOINT_LABEL = 'svc-chain-checkpoint/v1'
/** So many records of a running node are checked again, at most, after it was killed. */
const WRITE_EVERY_RECORDS = 1024

/** Records up to `count` were verified whole; `digest` is over their bytes. */
export type Checkpoint = { count: number; digest: Uint8Array }

/** The checkpoint of this identity; one that anybody else made is no checkpoint. */
export function readCheckpoint(store: Store, identity: Identity): Checkpoint | undefined {
  const stored = lasting(store, 'chainCheckpoint')
  if (stored === undefined) return undefined
  try {
    const [body, kelSeq, signature] = decode(stored) as [Uint8Array, number, Uint8Array]
    const key = keyAt(identity.log, kelSeq)
    if (key === undefined || !labelledVerify(CHECKPOINT_LABEL, key, body, signature)) return undefined
    const [count, digest] = decode(body) as [number, Uint8Array]
    return { count, digest }
  } catch (error) {
    if (error instanceof Malformed || error instanceof TypeError) return undefined
    throw error
  }
}

/** The verified part of a chain, from its first record on. */
export class VerifiedPart {
  /** Records that the file once held and that were cut off its end, beyond what a crash tears. */
  cutRecords = 0
  #store: Store
  #identity: Identity
  #hash: Hash = createHash('sha256')
  #count = 0
  #previous: Uint8Array = GENESIS
  #written: number
  #isWhole = true

  constructor(store: Store, identity: Identity, written: number) {
    this.#store = store
    this.#identity = identity
    this.#written = written
  }

  get count(): number {
    return this.#count
  }
  /** Id of the last record, or the genesis sentinel. */
  get previous(): Uint8Array {
    return this.#previous
  }
  get digest(): Uint8Array {
    return new Uint8Array(this.#hash.copy().digest())
  }

  /** Adds a record that the caller has verified, or will have before the checkpoint is written. */
  add(bytes: Uint8Array, id: Uint8Array): void {
    this.#hash.update(bytes)
    this.#count += 1
    this.#previous = id
  }

  /** Adds a record that goes to the file now, if it holds by itself; else nothing more is vouched for. */
  extend(seq: number, bytes: Uint8Array): void {
    if (!this.#isWhole) return
    const id = seq === this.#count ? this.#idIfGood(bytes) : undefined
    if (id === undefined) this.#isWhole = false
    else this.add(bytes, id)
    if (this.#count - this.#written >= WRITE_EVERY_RECORDS) this.write()
  }

  #idIfGood(bytes: Uint8Array): Uint8Array | undefined {
    const place = { seq: this.#count, previous: this.#previous, chainDid: chainDid(this.#identity.aid) }
    try {
      const read = readRecord(bytes, place)
      const key = keyAt(this.#identity.log, read.record.keyStateSeq)
      return key !== undefined && recordSignatureHolds(key, read) ? read.record.id : undefined
    } catch (error) {
      if (error instanceof ChainInvalid) return undefined
      throw error
    }
  }

  isAt(checkpoint: Checkpoint): boolean {
    return this.#count === checkpoint.count && equal(this.digest, checkpoint.digest)
  }

  /** Signs what is verified, unless that is written already. */
  write(): void {
    if (this.#count === this.#written) return
    const body = encode([this.#count, this.digest])
    const signature = labelledSign(CHECKPOINT_LABEL, this.#identity.seed, body)
    keepLasting(this.#store, { chainCheckpoint: encode([body, this.#identity.log.seq, signature]) })
    this.#written = this.#count
  }
}
