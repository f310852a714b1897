/** Opening an evidence chain: rebuild and verify it whole, beside the bare cost of its signatures on one thread. */

import { randomBytes } from 'node:crypto'
import { mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { publicKey } from '#crypto'
import { openChain } from '../daemon/chain/chain.ts'
import { openIdentity } from '../daemon/identity/identity.ts'
import { keepLasting } from '../daemon/store/lasting.ts'
import { openStore } from '../daemon/store/open.ts'
import { labelledSign, labelledVerify } from '../protocol/crypto/hash.ts'
import { GENESIS, recordLine, signRecord } from '../protocol/proof/evidence.ts'
import { systemTimers } from '../protocol/timers.ts'
import { atMost, median, type Row } from './lib/hub-load.ts'

const RECORDS = 100_000
const FIRST_RECORDS = 30_000
const ROUNDS = 3

export async function run(): Promise<Row[]> {
  return [
    atMost(
      `chain of ${FIRST_RECORDS} records, first open ÷ its signatures on one thread`,
      median(await opens(FIRST_RECORDS, true)),
      'times',
      0.6,
    ),
    atMost(
      `chain of ${RECORDS} records: open, rebuild, verify ÷ its signatures on one thread`,
      median(await opens(RECORDS, false)),
      'times',
      0.5,
    ),
  ]
}

/** Times of opening a chain ÷ that of its signatures; a first open finds no checkpoint of an earlier one. */
async function opens(records: number, first: boolean): Promise<number[]> {
  const dir = mkdtempSync(join(tmpdir(), 'svc-chain-'))
  const random = (length: number) => new Uint8Array(randomBytes(length))
  const identity = openIdentity(dir, { now: Date.now, random })
  const store = openStore(dir)
  writeChain(dir, store, identity, records)
  const ratios: number[] = []
  for (let i = 0; i < ROUNDS; i++) {
    if (first) keepLasting(store, { chainCheckpoint: null })
    const signatures = signatureTime(records)
    const started = performance.now()
    const chain = await openChain(dir, store, identity, { now: Date.now, timers: systemTimers })
    ratios.push((performance.now() - started) / signatures)
    if (chain.length !== records) throw new Error('the chain is not whole')
    chain.close()
  }
  store.close()
  rmSync(dir, { recursive: true })
  return ratios
}

function writeChain(
  dir: string,
  store: ReturnType<typeof openStore>,
  identity: ReturnType<typeof openIdentity>,
  records: number,
): void {
  const file = openSync(join(dir, 'evidence.ael.jsonl'), 'a', 0o600)
  let previous = GENESIS
  store.transaction(() => {
    for (let seq = 0; seq < records; seq++) {
      const payload = new Map([
        ['interaction_id', Buffer.from(previous.subarray(4, 20)).toString('base64url')],
        ['provider_aid', identity.aid],
        ['request_cid', 'bafkreiclwbxy4tr2o4k5eaovopikuqrxmlsv3k6wdiwaej4puvwmnuuu4a'],
      ])
      const { record, bytes } = signRecord(identity.seed, {
        signer: identity.aid,
        keyStateSeq: 0,
        seq,
        previous,
        eventType: 'svc.delegation.sent',
        payload,
        ts: 1_780_000_000_000 + seq,
      })
      store.run(
        'INSERT INTO chain (seq, id, type, record, drained) VALUES (?, ?, ?, ?, 1)',
        seq,
        record.id,
        record.eventType,
        bytes,
      )
      writeSync(file, recordLine(bytes))
      previous = record.id
    }
  }, 'bench.chain')
}

/** Milliseconds that verifying as many signatures costs, one after the other. */
function signatureTime(records: number): number {
  const seed = new Uint8Array(randomBytes(32))
  const key = publicKey(seed)
  const message = new Uint8Array(randomBytes(300))
  const signature = labelledSign('svc-ael/v1', seed, message)
  const sample = records / 10
  const started = performance.now()
  for (let i = 0; i < sample; i++) labelledVerify('svc-ael/v1', key, message, signature)
  return (performance.now() - started) * 10
}
