/** Cards of agents with open mail in the database. Changes run inside a transaction. */
import type { OpenCard, OpenCardStore, ToldOpenCard } from '../open-card-port.ts'
import {
  openCardOf,
  outcomeOfPut,
  type StoredOpenCard,
  type StoredToldOpenCard,
  toldOpenCardOf,
} from '../open-card-rows.ts'
import type { Database } from './database.ts'
import type { WriterClient } from './writer-client.ts'

export const openCardQueries = {
  card: 'SELECT aid, seq, kel_seq, card FROM open_card WHERE aid = ?',
  heads: 'SELECT fed_seq FROM open_card WHERE fed_seq > ? AND card IS NOT NULL ORDER BY fed_seq LIMIT ?',
  told:
    'SELECT told.fed_seq, told.aid, told.seq, told.kel_seq, told.card, agent.kel FROM open_card AS told' +
    ' JOIN agent ON agent.aid = told.aid WHERE told.fed_seq = ? AND agent.registered = 1' +
    " AND agent.mail = 'open' AND agent.visibility <> 'hub-local'",
} as const

/** A card that is written has a new place in the order in which peers read them. */
export function putOpenCard(db: Database, card: OpenCard): { outcome: 'stored' | 'unchanged' | 'older' } {
  const { aid, seq, kelSeq } = card
  const outcome = outcomeOfPut(card, db.one<StoredOpenCard>(openCardQueries.card, aid))
  if (outcome !== 'stored') return { outcome }
  db.run('DELETE FROM open_card WHERE aid = ?', aid)
  db.run('INSERT INTO open_card (aid, seq, kel_seq, card) VALUES (?, ?, ?, ?)', aid, seq, kelSeq, card.card)
  return { outcome }
}

export function retellOpenCard(db: Database, aid: string): true {
  const held = db.one<StoredOpenCard>(openCardQueries.card, aid)
  if (held?.card == null) return true
  db.run('DELETE FROM open_card WHERE aid = ?', aid)
  const { seq, kel_seq: kelSeq, card } = held
  db.run('INSERT INTO open_card (aid, seq, kel_seq, card) VALUES (?, ?, ?, ?)', aid, seq, kelSeq, card)
  return true
}

type ToldQuery = { after: number; limit: number; bytesMax: number; lookedMax: number }

function readTold(
  db: Database,
  { after, limit, bytesMax, lookedMax }: ToldQuery,
): { told: ToldOpenCard[]; next: number | undefined } {
  const told: ToldOpenCard[] = []
  const heads = db.all<{ fed_seq: number }>(openCardQueries.heads, after, lookedMax)
  let looked = after
  let bytes = 0
  for (const head of heads) {
    if (told.length === limit) return { told, next: looked }
    const row = db.one<StoredToldOpenCard>(openCardQueries.told, head.fed_seq)
    bytes += row === undefined ? 0 : row.card.length + row.kel.length
    if (told.length > 0 && bytes > bytesMax) return { told, next: looked }
    looked = head.fed_seq
    if (row !== undefined) told.push(toldOpenCardOf(row))
  }
  return { told, next: heads.length < lookedMax ? undefined : looked }
}

export function removeOpenCard(db: Database, aid: string): true {
  db.run('UPDATE open_card SET card = NULL WHERE aid = ?', aid)
  return true
}

export function openCardsOver(reader: Database, writer: WriterClient): OpenCardStore {
  return {
    putOpenCard: card => writer.write('putOpenCard', card),
    openCard: async aid => openCardOf(reader.one<StoredOpenCard>(openCardQueries.card, aid)),
    async retellOpenCard(aid) {
      await writer.write('retellOpenCard', aid)
    },
    toldOpenCards: async query => readTold(reader, query),
    async removeOpenCard(aid) {
      await writer.write('removeOpenCard', aid)
    },
  }
}
