/** Cards of agents with open mail in PostgreSQL. */
import type { OpenCard, OpenCardStore, ToldOpenCard } from '../open-card-port.ts'
import {
  openCardOf,
  outcomeOfPut,
  type StoredOpenCard,
  type StoredToldOpenCard,
  toldOpenCardOf,
} from '../open-card-rows.ts'
import type { Queries } from './connections.ts'
import type { Write } from './groups.ts'
import { numberAll } from './told-numbers.ts'
import type { Writer } from './writes.ts'

export const openCardQueries = {
  card: 'SELECT aid, seq, kel_seq, card FROM open_card WHERE aid = $1',
  // those that are looked at: how many of them are told so far, and how large they are
  told:
    'SELECT * FROM (SELECT head.*, agent.kel, count(*) OVER () AS looked, count(agent.aid) OVER so_far AS told,' +
    ' sum(octet_length(head.card) + octet_length(agent.kel)) OVER so_far AS bytes FROM' +
    ' (SELECT fed_seq, aid, seq, kel_seq, card FROM open_card WHERE fed_seq > $1 AND card IS NOT NULL' +
    ' ORDER BY fed_seq LIMIT $2) AS head LEFT JOIN agent ON agent.aid = head.aid AND agent.registered' +
    " AND agent.mail = 'open' AND agent.visibility <> 'hub-local'" +
    ' WINDOW so_far AS (ORDER BY head.fed_seq ROWS UNBOUNDED PRECEDING)) AS page' +
    ' WHERE told <= 1 OR (told <= $3 AND bytes <= $4) ORDER BY fed_seq',
} as const

const locksOf = (aid: string) => ({ aids: [aid] })

/** A card that is written has a new place in the order in which peers read them. */
export const putOpenCard: Write<OpenCard, { outcome: 'stored' | 'unchanged' | 'older' }> = {
  locks: ({ aid }) => locksOf(aid),
  async make(db, card) {
    const outcome = outcomeOfPut(card, await db.one<StoredOpenCard>(openCardQueries.card, card.aid))
    if (outcome === 'stored') await place(db, card)
    return { outcome }
  },
}

export const retellOpenCard: Write<string, void> = {
  locks: locksOf,
  async make(db, aid) {
    const held = openCardOf(await db.one<StoredOpenCard>(openCardQueries.card, aid))
    if (held !== undefined) await place(db, held)
  },
}

export const removeOpenCard: Write<string, void> = {
  locks: locksOf,
  make: async (db, aid) => void (await db.run('UPDATE open_card SET card = NULL WHERE aid = $1', aid)),
}

async function place(db: Queries, { aid, seq, kelSeq, card }: OpenCard): Promise<void> {
  await db.run('DELETE FROM open_card WHERE aid = $1', aid)
  await db.run(
    'INSERT INTO open_card (aid, seq, kel_seq, card) VALUES ($1, $2, $3, $4)',
    ...[aid, seq, kelSeq, card],
  )
}

type Looked = Omit<StoredToldOpenCard, 'kel'> & { kel: Uint8Array | null; looked: number }
type ToldQuery = { after: number; limit: number; bytesMax: number; lookedMax: number }

async function readTold(
  reader: Queries,
  { after, limit, bytesMax, lookedMax }: ToldQuery,
): Promise<{ told: ToldOpenCard[]; next: number | undefined }> {
  const rows = await reader.all<Looked>(openCardQueries.told, after, lookedMax, limit, bytesMax)
  const told = rows.flatMap(({ kel, ...row }) => (kel === null ? [] : [toldOpenCardOf({ ...row, kel })]))
  const { looked = 0 } = rows[0] ?? {}
  const isLast = rows.length === looked && looked < lookedMax
  return { told, next: isLast ? undefined : rows.at(-1)?.fed_seq }
}

export const openCardsOver = (reader: Queries, writer: Writer): OpenCardStore => ({
  putOpenCard: card => writer.write('putOpenCard', card),
  openCard: async aid => openCardOf(await reader.one<StoredOpenCard>(openCardQueries.card, aid)),
  retellOpenCard: aid => writer.write('retellOpenCard', aid),
  async toldOpenCards(query) {
    await numberAll(reader, writer, 'open_card')
    return await readTold(reader, query)
  },
  removeOpenCard: aid => writer.write('removeOpenCard', aid),
})
