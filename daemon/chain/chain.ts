/**
 * The evidence chain of this node: finished records are stored with the state change they prove, then drained to
 * `evidence.ael.jsonl` in order. On every open the whole file is rebuilt and verified against keys and store
 * (objects: evidence chain; node specification: evidence chain record).
 */
import * as fs from 'node:fs'
import { join } from 'node:path'
import { cidText } from '../../protocol/crypto/hash.ts'
import { equal, Malformed, utf8 } from '../../protocol/encoding/bytes.ts'
import type { CborValue } from '../../protocol/encoding/cbor.ts'
import {
  ChainInvalid,
  ChainRecord,
  chainDid,
  FORK_ANCHOR,
  GENESIS,
  readRecord,
  recordLine,
  renderRecord,
  signRecord,
} from '../../protocol/proof/evidence.ts'
import type { Timer, Timers } from '../../protocol/timers.ts'
import type { Identity } from '../identity/identity.ts'
import { faultPoint } from '../platform/faults.ts'
import { SECRET_FILE_MODE } from '../platform/files.ts'
import {
  appendRow,
  type ChainRow,
  hasRecordOf,
  lastRecord,
  markDrained,
  markInFile,
  newestRecords,
  recordIdAt,
  undrained,
} from '../store/chain.ts'
import type { Store } from '../store/open.ts'
import type { VerifiedPart } from './checkpoint.ts'
import { ChainRefused, verifyChainFile } from './file.ts'

/** Name of the chain's file in the data directory. */
export const CHAIN_FILE = 'evidence.ael.jsonl'
export const READ_LIMIT_DEFAULT = 50
export const READ_LIMIT_MAX = 1000
/** Beyond every number of a record. */
const SEQ_END = Number.MAX_SAFE_INTEGER
const DRAIN_RECORDS_MAX = 512
/** Records of one moment go to the file together, after what waits for them has been answered. */
const DRAIN_PAUSE_MS = 50

export type ChainHead = {
  chain_did: string
  head_id: string
  length: number
  state: 'ACTIVE' | 'QUARANTINED'
}
export type ReadOptions = {
  eventType?: string | undefined
  since?: number | undefined
  /** Only records below this number. */
  before?: number | undefined
  /** Only records whose payload names this interaction. */
  interactionId?: string | undefined
  limit?: number | undefined
}
type Row = Pick<ChainRow, 'seq' | 'id' | 'record'>
/** Text, numbers and bytes by name; what an event says. */
export type Payload = Record<string, CborValue | undefined>

/** What dates records, and what writes them to the file a moment later. */
export type ChainClock = { now: () => number; timers: Timers }

/** Opens the chain: verifies the file, completes a file that is cut or torn from the store, refuses everything else by record. */
export async function openChain(
  dir: string,
  store: Store,
  identity: Identity,
  clock: ChainClock,
): Promise<Chain> {
  const path = join(dir, CHAIN_FILE)
  const isNew = !fs.existsSync(path)
  const file = fs.openSync(path, fs.constants.O_RDWR | fs.constants.O_CREAT, SECRET_FILE_MODE)
  try {
    const part = await verifyChainFile({ path, file, store, identity, isNew })
    const verified = part.count
    const chain = new Chain(file, store, identity, { ...clock, part })
    store.transaction(() => markInFile(store, verified), 'node.chain.open')
    chain.drain()
    chain.writtenAgain = chain.length - verified
    chain.cutRecords = part.cutRecords
    return chain
  } catch (error) {
    fs.closeSync(file)
    throw error
  }
}

export class Chain {
  /** Records of the store that its file lacked when it was opened. */
  writtenAgain = 0
  /** Of those, records that the file had held before it was cut. */
  cutRecords = 0
  #file: number
  #store: Store
  #identity: Identity
  #now: () => number
  #timers: Timers
  #part: VerifiedPart
  /** Where the records end that the store knows to be in the file; a failure may have left others behind them. */
  #end: number
  #onAppend: (() => void) | undefined
  #draining: Timer | undefined

  constructor(
    file: number,
    store: Store,
    identity: Identity,
    { now, timers, part }: ChainClock & { part: VerifiedPart },
  ) {
    this.#file = file
    this.#store = store
    this.#identity = identity
    this.#now = now
    this.#timers = timers
    this.#part = part
    this.#end = fs.fstatSync(file).size
  }

  /** Called after a record is durable in the store. */
  set onAppend(listener: () => void) {
    this.#onAppend = listener
  }

  get length(): number {
    return lastRecord(this.#store)?.length ?? 0
  }

  /** Length, and the id of the last record or the genesis sentinel, as receipts name them. */
  get position(): [number, Uint8Array] {
    const last = lastRecord(this.#store)
    return [last?.length ?? 0, last?.id ?? GENESIS]
  }

  /** Id of the record that ends a chain of this length; undefined where this one is shorter. */
  idAt(length: number): Uint8Array | undefined {
    if (length === 0) return GENESIS
    return recordIdAt(this.#store, length - 1)
  }

  /** Whether two records of one seq were ever seen; the chain itself keeps that for good. */
  get isQuarantined(): boolean {
    return hasRecordOf(this.#store, FORK_ANCHOR)
  }

  head(): ChainHead {
    const [length, id] = this.position
    const state = this.isQuarantined ? 'QUARANTINED' : 'ACTIVE'
    return { chain_did: chainDid(this.#identity.aid), head_id: cidText(id), length, state }
  }

  /** Appends an event; inside a transaction it becomes durable together with the state change it proves. */
  append(eventType: string, payload: Payload): number {
    return this.#store.transaction(() => {
      const [seq, previous] = this.position
      const members = Object.entries(payload).filter(
        (entry): entry is [string, CborValue] => entry[1] !== undefined,
      )
      const { record, bytes } = signRecord(this.#identity.seed, {
        signer: this.#identity.aid,
        keyStateSeq: this.#identity.log.seq,
        seq,
        previous,
        eventType,
        payload: new Map(members),
        ts: this.#now(),
      })
      appendRow(this.#store, { seq, id: record.id, type: eventType, record: bytes })
      this.#store.afterCommit(() => {
        this.#drainSoon()
        this.#onAppend?.()
      })
      return seq
    }, 'node.chain')
  }

  /** The store has the record; the file follows, and what a crash leaves out of it the next open writes. */
  #drainSoon(): void {
    if (this.#draining !== undefined) return
    this.#draining = this.#timers.after(DRAIN_PAUSE_MS, () => {
      this.#draining = undefined
      this.#store.attempt(() => this.drain())
    })
    this.#draining.unref()
  }

  /**
   * Writes at the end of the file, in the place of what the store does not know to be there; what a failing disk took
   * only in part is cut off again, so that a retry fits. Answers where the file ends then.
   */
  #append(lines: Uint8Array): number {
    const start = Math.min(fs.fstatSync(this.#file).size, this.#end)
    fs.ftruncateSync(this.#file, start)
    try {
      for (let written = 0; written < lines.length; ) {
        written += fs.writeSync(this.#file, lines, written, lines.length - written, start + written)
      }
    } catch (error) {
      fs.ftruncateSync(this.#file, start)
      throw error
    }
    return start + lines.length
  }

  /** Writes stored records that the file lacks, in order; marked as drained only once they are on the disk. */
  drain(): void {
    for (;;) {
      const rows = undrained(this.#store, DRAIN_RECORDS_MAX)
      const last = rows.at(-1)
      if (last === undefined) return
      faultPoint('node.chain.before-write')
      const end = this.#append(Buffer.from(rows.map(row => recordLine(row.record)).join(''), 'latin1'))
      faultPoint('node.chain.before-sync')
      fs.fdatasyncSync(this.#file)
      faultPoint('node.chain.after-sync')
      // lost with the power, the next open finds it out from the file
      this.#store.unflushed(() => markDrained(this.#store, last.seq), 'node.chain.drained')
      this.#end = end
      for (const { seq, record } of rows) this.#part.extend(seq, record)
    }
  }

  /**
   * Records with `seq >= since` of exactly this type; the newest where there are more than `limit`, ascending. What is
   * left out is older than the answer, so no `since` would reach it, and nothing is left to continue with.
   */
  read(options: ReadOptions = {}): Record<string, unknown>[] {
    const limit = Math.min(Math.max(options.limit ?? READ_LIMIT_DEFAULT, 1), READ_LIMIT_MAX)
    const { since = 0, before = SEQ_END, eventType: type, interactionId: named } = options
    const holding = named === undefined ? undefined : utf8(named)
    const rows = newestRecords(this.#store, { since, before, type, holding }, limit)
    const records = rows.reverse().map(row => renderRecord(this.#verified(row)))
    const names = (payload: unknown) =>
      (payload as { interaction_id?: unknown }).interaction_id === options.interactionId
    return options.interactionId === undefined ? records : records.filter(({ payload }) => names(payload))
  }

  /** A stored record, when it is the one whose id the open compared with the verified file. */
  #verified({ seq, id, record }: Row): ChainRecord {
    try {
      const { previous } = ChainRecord.decode(record)
      const read = readRecord(record, { seq, previous, chainDid: chainDid(this.#identity.aid) })
      if (equal(read.record.id, id)) return read.record
    } catch (error) {
      if (!(error instanceof ChainInvalid || error instanceof Malformed)) throw error
    }
    throw new ChainRefused(
      `record ${seq} in the store is not the one that was verified; stop the node and restore it`,
    )
  }

  close(): void {
    this.#timers.clear(this.#draining)
    this.#store.attempt(() => this.drain())
    try {
      this.#part.write()
    } catch {
      // A full disk: the next open checks more signatures.
    }
    fs.closeSync(this.#file)
  }
}
