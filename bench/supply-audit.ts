/** A hub's supply chain read as an auditor reads it, beside what the signatures of all of its records cost on one thread. */
import { verify } from '../protocol/crypto/engine.node.ts'
import { ChainReader } from '../protocol/proof/chain-reader.ts'
import { GENESIS, signRecord } from '../protocol/proof/evidence.ts'
import { creditIssued, creditPayload } from '../protocol/proof/supply.ts'
import { SupplyReader } from '../protocol/proof/supply-reader.ts'
import { agent } from '../protocol/testing/agents.ts'
import { atMost, median, type Row } from './lib/hub-load.ts'

const RECORDS = 100_000
const ROUNDS = 5
const AGENTS = 1000

export async function run(): Promise<Row[]> {
  const hub = agent('hub')
  const others = Array.from({ length: AGENTS }, (_, i) => agent(`agent ${i}`).aid)
  const records: Uint8Array[] = []
  let previous: Uint8Array = GENESIS
  for (let seq = 0; seq < RECORDS; seq++) {
    const { record, bytes } = signRecord(hub.identitySeed, {
      signer: hub.aid,
      keyStateSeq: 0,
      seq,
      previous,
      eventType: creditIssued,
      payload: creditPayload({ aid: others[seq % AGENTS] as string, amount: 100, reason: 'trial' }),
      ts: 1_800_000_000_000,
    })
    previous = record.id
    records.push(bytes)
  }
  const ratios: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const signatures = timed(() => {
      const reader = new ChainReader(hub.log)
      const checks = records.map(bytes => reader.add(bytes).toVerify)
      return () => checks.every(({ key, message, signature }) => verify(key, message, signature))
    })
    const audit = timed(() => () => {
      const reader = new SupplyReader(hub.log, { own: others[0] })
      for (const bytes of records) reader.add(bytes)
      reader.end()
    })
    ratios.push(audit / signatures)
  }
  return [atMost('audit of 100,000 records ÷ their signatures on one thread', median(ratios), '×', 0.4)]
}

/** Milliseconds of what `prepare` gives. */
function timed(prepare: () => () => unknown): number {
  const work = prepare()
  const start = performance.now()
  work()
  return performance.now() - start
}
