/**
 * Opening the chain file: every record is parsed, hashed and compared with the store; signatures are checked but for
 * those that an earlier open checked, which a checkpoint signed by this identity proves (objects: evidence chain).
 */
import { createHash, type Hash } from 'node:crypto'
import * as fs from 'node:fs'
import { verifyAsync } from '#crypto'
import { equal, Malformed } from '../protocol/bytes.ts'
import { decode, encode } from '../protocol/cbor.ts'
import {
  ChainInvalid,
  chainDid,
  GENESIS,
  parseRecordLine,
  readRecord,
  recordSignatureHolds,
} from '../protocol/evidence.ts'
import { labelledSign, labelledVerify } from '../protocol/hash.ts'
import { keyAt } from '../protocol/kel.ts'
import { isJsonLine, recordOfJsonLine } from './chain-json.ts'
import type { Identity } from './identity.ts'
import type { Store } from './store/open.ts'

const READ_BYTES = 1024 * 1024
const VERIFICATIONS_IN_FLIGHT_MAX = 64
const IDS_READ_AT_ONCE = 4096
const CHECKPOINT = 'chain-checkpoint'
const CHECKPOINT_LABEL = 'svc-chain-checkpoint/v1'

export class ChainRefused extends Error {
  override name = 'ChainRefused'
}

export type ChainFile = { path: string; file: number; store: Store; identity: Identity }
/** Records up to `count` were verified whole; `digest` is over their bytes. */
type Checkpoint = { count: number; digest: Uint8Array }

/** Number of good records in the file, after cutting off a torn last line that the store can write again. */
export async function verifyChainFile(chain: ChainFile): Promise<number> {
  const checkpoint = readCheckpoint(chain)
  const pass = (await verifyPass(chain, checkpoint)) ?? (await verifyPass(chain, undefined))
  if (pass === undefined) throw new Error('a pass without a checkpoint always ends')
  checkUndrained(chain, pass.count, pass.previous)
  if (pass.count !== checkpoint?.count) writeCheckpoint(chain, pass)
  return pass.count
}

type Pass = { count: number; previous: Uint8Array; digest: Uint8Array }

/** Reads the whole file once; undefined when its bytes are not those of the checkpoint. */
async function verifyPass(chain: ChainFile, checkpoint: Checkpoint | undefined): Promise<Pass | undefined> {
  const { path, file, store, identity } = chain
  const trusted = checkpoint?.count ?? 0
  const did = chainDid(identity.aid)
  const ids = storedIds(store)
  const hash = createHash('sha256')
  let seq = 0
  let previous: Uint8Array = GENESIS
  let inFlight: Promise<void>[] = []
  for (const line of linesOf(file)) {
    const record = parseLine(path, line, seq, previous, did)
    const stored = ids.next().value
    if (record === undefined || !line.complete) {
      if (line.complete && !isLastLine(file, line)) throw refused(path, seq, 'it is damaged')
      if (stored === undefined) throw refused(path, seq, 'it is damaged and the store does not have it')
      fs.ftruncateSync(file, line.start)
      fs.fsyncSync(file)
      break
    }
    if (stored === undefined) throw longer(path, seq)
    if (!equal(stored, record.record.id)) throw refused(path, seq, 'the store holds another record')
    hash.update(record.bytes)
    if (seq >= trusted) inFlight.push(checkSignature(path, seq, record, identity))
    if (inFlight.length >= VERIFICATIONS_IN_FLIGHT_MAX) {
      await Promise.all(inFlight)
      inFlight = []
    }
    previous = record.record.id
    seq += 1
    if (seq === trusted && checkpoint !== undefined && !equal(digestOf(hash), checkpoint.digest))
      return undefined
  }
  await Promise.all(inFlight)
  return seq < trusted ? undefined : { count: seq, previous, digest: digestOf(hash) }
}

const digestOf = (hash: Hash): Uint8Array => new Uint8Array(hash.copy().digest())

/** Ids of the store in order, read in pages. */
function* storedIds(store: Store): Generator<Uint8Array, undefined> {
  for (let from = 0; ; from += IDS_READ_AT_ONCE) {
    const rows = store.all<{ id: Uint8Array }>(
      'SELECT id FROM chain WHERE seq >= ? ORDER BY seq LIMIT ?',
      from,
      IDS_READ_AT_ONCE,
    )
    for (const row of rows) yield row.id
    if (rows.length < IDS_READ_AT_ONCE) return undefined
  }
}

/** The checkpoint of this identity; one that anybody else made is no checkpoint. */
function readCheckpoint({ store, identity }: ChainFile): Checkpoint | undefined {
  const stored = store.recall(CHECKPOINT)
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

function writeCheckpoint({ store, identity }: ChainFile, { count, digest }: Pass): void {
  const body = encode([count, digest])
  const signature = labelledSign(CHECKPOINT_LABEL, identity.seed, body)
  store.remember(CHECKPOINT, encode([body, identity.log.seq, signature]))
}

export const refused = (path: string, seq: number, why: string) =>
  new ChainRefused(
    `${path}: record ${seq}: ${why}; the node does not start on it, restore the file from its backup`,
  )

const longer = (path: string, seq: number) =>
  new ChainRefused(
    `${path} holds record ${seq}, which the store does not; the store is older, restore its backup or import with: svc evidence import`,
  )

/** A line as latin1, one character a byte. */
export type Line = { text: string; start: number; complete: boolean }
export type ReadResult = ReturnType<typeof readRecord>

/** The record of a line; undefined for what is no record at all, as a torn write leaves it. */
export function parseLine(
  path: string,
  line: Line,
  seq: number,
  previous: Uint8Array,
  did: string,
): ReadResult | undefined {
  try {
    const bytes = isJsonLine(line.text)
      ? recordOfJsonLine(Buffer.from(line.text, 'latin1').toString('utf8'))
      : parseRecordLine(line.text)
    return readRecord(bytes, { seq, previous, chainDid: did })
  } catch (error) {
    if (error instanceof Malformed) return undefined
    if (!(error instanceof ChainInvalid)) throw error
    if (error.fault === 'malformed') return undefined
    throw refused(path, seq, error.message)
  }
}

export async function checkSignature(
  path: string,
  seq: number,
  read: ReadResult,
  identity: Identity,
): Promise<void> {
  const key = keyAt(identity.log, read.record.keyStateSeq)
  const label = new TextEncoder().encode('svc-ael/v1\0')
  const message = Buffer.concat([label, read.preimage])
  if (key === undefined || !(await verifyAsync(key, message, read.record.signature)))
    throw refused(path, seq, 'its signature does not hold')
}

/** The records that are still to be written must go on from the file's end and hold by themselves. */
function checkUndrained({ path, store, identity }: ChainFile, from: number, previous: Uint8Array): void {
  let before = previous
  for (let seq = from; ; seq++) {
    const row = store.get<{ record: Uint8Array }>('SELECT record FROM chain WHERE seq = ?', seq)
    if (row === undefined) return
    const read = readRecord(row.record, { seq, previous: before, chainDid: chainDid(identity.aid) })
    const key = keyAt(identity.log, read.record.keyStateSeq)
    if (key === undefined || !recordSignatureHolds(key, read))
      throw refused(path, seq, 'the copy in the store is damaged')
    before = read.record.id
  }
}

function isLastLine(file: number, line: Line): boolean {
  return line.start + line.text.length + 1 === fs.fstatSync(file).size
}

export function* linesOf(file: number): Generator<Line> {
  const buffer = Buffer.alloc(READ_BYTES)
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
  }
  if (rest !== '') yield { text: rest, start, complete: false }
}
