/** The supply chain in PostgreSQL, its epochs, and what their proofs are made from. */
import type { KeptEpoch, NewSupplyRecord, ProofPiece, ReturnedSupply, SupplyHead } from '../ledger-port.ts'
import { goesOn } from '../posting.ts'
import type { Queries } from './connections.ts'
import type { Write } from './groups.ts'

const EPOCH = 'SELECT day, seq, accounts FROM supply_epoch'

export const supplyQueries = {
  head: 'SELECT seq, id FROM supply_record ORDER BY seq DESC LIMIT 1',
  records: 'SELECT seq, id, record FROM supply_record WHERE seq >= $1 ORDER BY seq LIMIT $2',
  newestEpoch: `${EPOCH} ORDER BY day DESC LIMIT 1`,
  epoch: `${EPOCH} WHERE day = $1`,
  piece: 'SELECT bytes FROM supply_piece WHERE day = $1 AND level = $2 AND piece = $3',
} as const

/** What a change of the chain locks. */
export const SUPPLY_CHAIN = 'supply chain'

export const readHead = (db: Queries): Promise<SupplyHead | undefined> => db.one(supplyQueries.head)

export const readRecords = (db: Queries, from: number, limit: number): Promise<NewSupplyRecord[]> =>
  db.all(supplyQueries.records, from, limit)

/** Adds records that go on from the head. */
export async function addRecords(db: Queries, records: readonly NewSupplyRecord[]): Promise<void> {
  await db.run(
    'INSERT INTO supply_record (seq, id, record) SELECT * FROM unnest($1::bigint[], $2::bytea[], $3::bytea[])',
    records.map(({ seq }) => seq),
    records.map(({ id }) => id),
    records.map(({ record }) => record),
  )
}

/** Keeps a piece of an epoch that is to come; one that was interrupted is begun again. */
export const addProofPiece: Write<ProofPiece, void> = {
  locks: () => ({}),
  async make(db, { day, level, piece, bytes }) {
    await db.run(
      'INSERT INTO supply_piece (day, level, piece, bytes) VALUES ($1, $2, $3, $4)' +
        ' ON CONFLICT (day, level, piece) DO UPDATE SET bytes = excluded.bytes',
      ...[day, level, piece, bytes],
    )
  },
}

type NewEpoch = { record: NewSupplyRecord; epoch: Omit<KeptEpoch, 'seq'>; keptSinceDay: number }

/** Adds an epoch if the chain has not gone on meanwhile. */
export const appendEpoch: Write<NewEpoch, boolean> = {
  locks: () => ({ subjects: [SUPPLY_CHAIN] }),
  async make(db, { record, epoch, keptSinceDay }) {
    if (!goesOn(await readHead(db), record)) return false
    await addRecords(db, [record])
    await keepEpochs(db, [{ ...epoch, seq: record.seq }], keptSinceDay)
    return true
  },
}

async function keepEpochs(db: Queries, epochs: readonly KeptEpoch[], keptSinceDay: number): Promise<void> {
  for (const { day, seq, accounts } of epochs)
    await db.run(
      'INSERT INTO supply_epoch (day, seq, accounts) VALUES ($1, $2, $3)' +
        ' ON CONFLICT (day) DO UPDATE SET seq = excluded.seq, accounts = excluded.accounts',
      ...[day, seq, accounts],
    )
  await db.run('DELETE FROM supply_epoch WHERE day < $1', keptSinceDay)
  await db.run('DELETE FROM supply_piece WHERE day < $1', keptSinceDay)
}

/** Adds records that were here before; throws where one does not fit. */
export async function returnRecords(
  db: Queries,
  { records, epochs, keptSinceDay }: Omit<ReturnedSupply, 'postings'>,
): Promise<void> {
  let head = await readHead(db)
  for (const record of records) {
    if (!goesOn(head, record)) throw new Error(`record ${record.seq} does not go on from the supply chain`)
    head = record
  }
  await addRecords(db, records)
  if (epochs.length > 0) await keepEpochs(db, epochs, keptSinceDay)
}
