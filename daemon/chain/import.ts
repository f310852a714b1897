/**
 * Bringing a chain file back into the store (`svc evidence import`), after the store was restored from an older
 * backup: every record and signature is verified against the identity, then what the store lacks is put into it. A
 * record whose seq the store has under another id is a fork: both ids are kept in an anchor record, the file is set
 * aside, and the chain is quarantined from then on (node document: evidence chain, fork anchor).
 */
import * as fs from 'node:fs'
import { join } from 'node:path'
import { equal } from '../../protocol/encoding/bytes.ts'
import type { CborValue } from '../../protocol/encoding/cbor.ts'
import { chainDid, FORK_ANCHOR, GENESIS, signRecord } from '../../protocol/proof/evidence.ts'
import { lockDirectory } from '../home/lock.ts'
import { requireNotMoved } from '../home/moved.ts'
import { type Identity, openIdentity } from '../identity/identity.ts'
import { openRegular } from '../platform/files.ts'
import { appendRow, chainLength, markInFile, recordIdAt } from '../store/chain.ts'
import { openStore, type Store } from '../store/open.ts'
import { ChainRefused, linesOf, parseLine, type ReadResult, signedOf, unsigned } from './file.ts'
import { SignatureChecks } from './signatures.ts'

export type ImportedChain = {
  /** Records of the store afterwards. */
  length: number
  imported: number
  /** The seq at which file and store contradict each other. */
  fork?: number
}

/** Imports the chain file of a stopped node, or another one of the same identity. */
export async function importChain(
  dir: string,
  { file, now, random }: { file?: string; now: () => number; random: (length: number) => Uint8Array },
): Promise<ImportedChain> {
  const own = join(dir, 'evidence.ael.jsonl')
  const path = file ?? own
  if (!fs.existsSync(join(dir, 'identity.kel'))) throw new ChainRefused(`${dir} holds no identity`)
  if (!fs.existsSync(path)) throw new ChainRefused(`${path} is missing; put it there from a backup`)
  using _lock = lockDirectory(dir, 'command')
  requireNotMoved(dir)
  using undo = new DisposableStack()
  const identity = openIdentity(dir, { now, random })
  const records = await readChain(path, identity)
  const store = undo.adopt(openStore(dir), opened => opened.close())
  const result = store.transaction(() => merge(store, identity, records, now()), 'node.chain.import')
  if (result.fork !== undefined && path === own) {
    fs.renameSync(own, `${own}.fork-${result.fork}`)
    markInFile(store, 0)
  }
  return result
}

/** All records of a chain file, verified; a torn last line is left out. */
async function readChain(path: string, identity: Identity): Promise<ReadResult[]> {
  const did = chainDid(identity.aid)
  const records: ReadResult[] = []
  const file = openRegular(path)
  try {
    await using checks = new SignatureChecks(0)
    for (const line of linesOf(file)) {
      const seq = records.length
      const previous = records.at(-1)?.record.id ?? GENESIS
      const read = parseLine(path, line, seq, previous, did)
      if (!line.complete) break
      if (read === undefined)
        throw new ChainRefused(`${path}: record ${seq} is damaged; nothing was imported`)
      records.push(read)
      await checks.add(signedOf(path, seq, read, identity))
    }
    const bad = await checks.end()
    if (bad !== undefined) throw unsigned(path, bad)
  } finally {
    fs.closeSync(file)
  }
  return records
}

function merge(store: Store, identity: Identity, records: readonly ReadResult[], now: number): ImportedChain {
  let imported = 0
  for (const { record, bytes } of records) {
    const held = recordIdAt(store, record.seq)
    if (held === undefined) {
      insert(store, record, bytes)
      imported += 1
    } else if (!equal(held, record.id)) {
      const length = anchor(store, identity, { seq: record.seq, held, other: record.id }, now)
      return { length, imported, fork: record.seq }
    }
  }
  return { length: chainLength(store), imported }
}

function insert(store: Store, record: ReadResult['record'], bytes: Uint8Array): void {
  const { seq, id, eventType } = record
  appendRow(store, { seq, id, type: eventType, record: bytes })
}

/** Adds the record that keeps both ids on top of what the store holds. */
function anchor(
  store: Store,
  identity: Identity,
  fork: { seq: number; held: Uint8Array; other: Uint8Array },
  now: number,
): number {
  const seq = chainLength(store)
  const { record, bytes } = signRecord(identity.seed, {
    signer: identity.aid,
    keyStateSeq: identity.log.seq,
    seq,
    previous: recordIdAt(store, seq - 1) ?? GENESIS,
    eventType: FORK_ANCHOR,
    payload: new Map<number, CborValue>([
      [1, chainDid(identity.aid)],
      [2, fork.seq],
      [3, fork.held],
      [4, fork.other],
    ]),
    ts: now,
  })
  insert(store, record, bytes)
  return seq + 1
}
