/** Cards of agents with open mail in the database. Changes run inside a transaction. */
import type { OpenCard, OpenCardStore } from '../open-card-port.ts'
import type { Database } from './database.ts'
import type { WriterClient } from './writer-client.ts'

export const openCardQueries = {
  card: 'SELECT aid, seq, kel_seq, card FROM open_card WHERE aid = ?',
} as const

type Stored = { aid: string; seq: number; kel_seq: number; card: string | null }

/** A card that is written has a new place in the order in which peers read them. */
export function putOpenCard(
  db: Database,
  { aid, seq, kelSeq, card }: OpenCard,
): { outcome: 'stored' | 'unchanged' | 'older' } {
  const held = db.one<Stored>(openCardQueries.card, aid)
  if (held !== undefined && held.card === card) return { outcome: 'unchanged' }
  if (held !== undefined && held.seq >= seq) return { outcome: 'older' }
  db.run('DELETE FROM open_card WHERE aid = ?', aid)
  db.run('INSERT INTO open_card (aid, seq, kel_seq, card) VALUES (?, ?, ?, ?)', aid, seq, kelSeq, card)
  return { outcome: 'stored' }
}

export function removeOpenCard(db: Database, aid: string): true {
  db.run('UPDATE open_card SET card = NULL WHERE aid = ?', aid)
  return true
}

export function openCardsOver(reader: Database, writer: WriterClient): OpenCardStore {
  return {
    putOpenCard: card => writer.write('putOpenCard', card),
    async openCard(aid) {
      const row = reader.one<Stored>(openCardQueries.card, aid)
      return row?.card == null ? undefined : { aid, seq: row.seq, kelSeq: row.kel_seq, card: row.card }
    },
    async removeOpenCard(aid) {
      await writer.write('removeOpenCard', aid)
    },
  }
}
