/**
 * Opening the chain file: every record is parsed, hashed and compared with the store; signatures are checked but for
 * those that an earlier open checked, which a checkpoint signed by this identity proves (objects: evidence chain).
 */

import * as fs from 'node:fs'
import { equal, Malformed } from '../../protocol/encoding/bytes.ts'
import { Failure } from '../../protocol/encoding/errors.ts'
import { keyAt } from '../../protocol/identity/kel.ts'
import {
  ChainInvalid,
  chainDid,
  isAsWritten,
  parseRecordLine,
  readRecord,
  recordSignatureHolds,
  signedBytes,
} from '../../protocol/proof/evidence.ts'
import type { Identity } from '../identity/identity.ts'
import { openRegular } from '../platform/files.ts'
import { chainInFile, recordAt, recordIds } from '../store/chain.ts'
import type { Store } from '../store/open.ts'
import { type Checkpoint, readCheckpoint, VerifiedPart } from './checkpoint.ts'
import { isJsonLine, recordOfJsonLine } from './json-lines.ts'
import { SignatureChecks } from './signatures.ts'

const READ_BYTES = 1024 * 1024
/** Of the longest record in the oldest form, with room. */
const LINE_CHARACTERS_MAX = 4 * 1024 * 1024
const IDS_READ_AT_ONCE = 4096

export class ChainRefused extends Failure {
  override name = 'ChainRefused'
  /** Whether the store holds, as far as is known, all that the file is to say. */
  readonly isFileAlone: boolean
  constructor(message: string, isFileAlone = false) {
    super(message)
    this.isFileAlone = isFileAlone
  }
}

/** The chain file holds more than the store, which can be completed from it. */
export class StoreBehind extends ChainRefused {}

export type ChainFile = {
  path: string
  file: number
  store: Store
  identity: Identity
  /** The file was not there: it is written from the store. */
  isNew: boolean
  /** Cuts the file off at a byte. */
  cut: (at: number) => void
}

/** The good records of the file, after cutting off a torn last line that the store can write again. */
export async function verifyChainFile(chain: Omit<ChainFile, 'cut'>): Promise<VerifiedPart> {
  const { file } = chain
  const cut = (at: number) => {
    fs.ftruncateSync(file, at)
    fs.fsyncSync(file)
  }
  const part = await verify({ ...chain, cut })
  part.write()
  return part
}

/** Throws what a start on this file would; nothing is written. */
export async function examineChainFile(path: string, store: Store, identity: Identity): Promise<void> {
  if (!fs.existsSync(path)) return
  const file = openRegular(path)
  try {
    await verify({ path, file, store, identity, isNew: false, cut: () => {} })
  } finally {
    fs.closeSync(file)
  }
}

async function verify(chain: ChainFile): Promise<VerifiedPart> {
  const checkpoint = readCheckpoint(chain.store, chain.identity)
  let torn = 0
  const cut = (at: number) => {
    torn = 1
    chain.cut(at)
  }
  const given = { ...chain, cut }
  const part = (await verifyPass(given, checkpoint)) ?? (await verifyPass(given, undefined))
  if (part === undefined) throw new Error('a pass without a checkpoint always ends')
  // the store proves what the file lacks: it is written again
  checkUndrained(chain, part.count, part.previous)
  if (!chain.isNew) part.cutRecords = Math.max(0, chainInFile(chain.store) - part.count - torn)
  return part
}

/** Reads the whole file once; undefined when its bytes are not those of the checkpoint. */
async function verifyPass(
  chain: ChainFile,
  checkpoint: Checkpoint | undefined,
): Promise<VerifiedPart | undefined> {
  const { path, file, store, identity, cut } = chain
  const trusted = checkpoint?.count ?? 0
  const did = chainDid(identity.aid)
  const ids = storedIds(store)
  const part = new VerifiedPart(store, identity, trusted)
  await using checks = new SignatureChecks(trusted)
  for (const line of linesOf(file)) {
    const seq = part.count
    const record = parseLine(path, line, seq, part.previous, did)
    const stored = ids.next().value
    if (record === undefined || !line.complete) {
      if (line.complete && !isLastLine(file, line)) throw refused(path, seq, 'it is damaged')
      if (stored === undefined)
        throw refused(path, seq, 'it is damaged and the store does not have it', FROM_BACKUP)
      cut(line.start)
      break
    }
    if (stored === undefined) throw longer(path, seq)
    if (!equal(stored, record.record.id)) throw refused(path, seq, 'the store holds another record')
    if (seq >= trusted) await checks.add(signedOf(path, seq, record, identity))
    if (checks.bad !== undefined) break
    part.add(record.bytes, record.record.id)
    if (checkpoint !== undefined && part.count === trusted && !part.isAt(checkpoint)) return undefined
  }
  const bad = await checks.end()
  if (bad !== undefined) throw unsigned(path, bad)
  return part.count < trusted ? undefined : part
}

/** Ids of the store in order, read in pages. */
function* storedIds(store: Store): Generator<Uint8Array, undefined> {
  for (let from = 0; ; from += IDS_READ_AT_ONCE) {
    const ids = recordIds(store, from, IDS_READ_AT_ONCE)
    yield* ids
    if (ids.length < IDS_READ_AT_ONCE) return undefined
  }
}

const FROM_STORE =
  'move it away, and the next start verifies the records of the store and writes it anew; where the store is what was altered, restore the directory from its backup'
const FROM_BACKUP = 'restore the directory from its backup'

export const refused = (path: string, seq: number, why: string, mend = FROM_STORE) =>
  new ChainRefused(
    `${path}: record ${seq}: ${why}; the node does not start on it: ${mend}`,
    mend === FROM_STORE,
  )

const longer = (path: string, seq: number) =>
  new StoreBehind(
    `${path} holds record ${seq}, which the store does not; the store is older, restore its backup or import with: svc evidence import`,
  )

/** A line as latin1, one character a byte. */
export type ChainLine = { text: string; start: number; complete: boolean }
export type ReadResult = ReturnType<typeof readRecord>

/** The record of a line; undefined for what is no record at all, as a torn write leaves it. */
export function parseLine(
  path: string,
  line: ChainLine,
  seq: number,
  previous: Uint8Array,
  did: string,
): ReadResult | undefined {
  try {
    const place = { seq, previous, chainDid: did }
    if (isJsonLine(line.text))
      return readRecord(recordOfJsonLine(Buffer.from(line.text, 'latin1').toString('utf8')), place)
    const read = readRecord(parseRecordLine(line.text), place)
    if (!isAsWritten(read.record)) throw refused(path, seq, 'what is not signed of it was altered')
    return read
  } catch (error) {
    if (error instanceof Malformed) return undefined
    if (!(error instanceof ChainInvalid)) throw error
    if (error.code === 'malformed') return undefined
    throw refused(path, seq, error.message)
  }
}

/** What the signature of a record covers, and the key under which it must hold. */
export function signedOf(path: string, seq: number, read: ReadResult, identity: Identity) {
  const key = keyAt(identity.log, read.record.keyStateSeq)
  if (key === undefined) throw unsigned(path, seq)
  return { key, message: signedBytes(read), signature: read.record.signature }
}

export const unsigned = (path: string, seq: number) => refused(path, seq, 'its signature does not hold')

/** The records that are still to be written must go on from the file's end and hold by themselves. */
function checkUndrained({ path, store, identity }: ChainFile, from: number, previous: Uint8Array): void {
  let before = previous
  for (let seq = from; ; seq++) {
    const row = recordAt(store, seq)
    if (row === undefined) return
    const read = readRecord(row.record, { seq, previous: before, chainDid: chainDid(identity.aid) })
    const key = keyAt(identity.log, read.record.keyStateSeq)
    const isOurs = isAsWritten(read.record) && equal(read.record.id, row.id)
    if (!isOurs || key === undefined || !recordSignatureHolds(key, read))
      throw refused(path, seq, 'the copy in the store is damaged', FROM_BACKUP)
    before = read.record.id
  }
}

function isLastLine(file: number, line: ChainLine): boolean {
  return line.start + line.text.length + 1 === fs.fstatSync(file).size
}

/** The lines of a chain file. One that no record could fill ends them, as a line that is none. */
export function* linesOf(file: number): Generator<ChainLine> {
  // most chains fill little of it, and only what was read is looked at
  const buffer = Buffer.allocUnsafe(READ_BYTES)
  let rest = ''
  let start = 0
  let offset = 0
  for (;;) {
    const length = fs.readSync(file, buffer, 0, READ_BYTES, offset)
    if (length === 0) break
    offset += length
    const pieces = (rest + buffer.toString('latin1', 0, length)).split('\n')
    rest = pieces.pop() as string
    for (const text of pieces) {
      yield { text, start, complete: true }
      start += text.length + 1
    }
    if (rest.length > LINE_CHARACTERS_MAX) return yield { text: rest, start, complete: true }
  }
  if (rest !== '') yield { text: rest, start, complete: false }
}
