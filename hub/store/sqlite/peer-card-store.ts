/** Cards in the database: those that peers are told, and those that they told. Changes run inside a transaction. */
import type { PeerCard, PeerCardStore, TakePeerCards, ToldCard } from '../peer-card-port.ts'
import { aidOfCard, isCardNews, toldCardOf } from '../peer-card-rows.ts'
import type { Database } from './database.ts'
import { followCard } from './told-reviews.ts'
import type { WriterClient } from './writer-client.ts'

export const cardQueries = {
  after: 'SELECT fed_seq, aid, withdrawn FROM told_card WHERE fed_seq > ? ORDER BY fed_seq LIMIT ?',
  agent: 'SELECT kel, keys FROM agent WHERE aid = ?',
  kept: 'SELECT 1 FROM peer_card WHERE hub = ? AND aid = ?',
  read: 'SELECT fed_seq, cards FROM peer_cards_read WHERE hub = ?',
  some: 'SELECT aid FROM peer_card WHERE hub = ? LIMIT ?',
} as const

/** Other writes have their turn in between. */
const FORGOTTEN_AT_ONCE = 1000

/** An agent was written: peers are told where it is known to them, and changed; or that it is told no more. */
export function retellCard(db: Database, aid: string, now: { isTold: boolean; isSame: boolean }): void {
  const held = db.one<{ withdrawn: number }>('SELECT withdrawn FROM told_card WHERE aid = ?', aid)
  if (!isCardNews(held?.withdrawn === 0, now)) return
  db.run('DELETE FROM told_card WHERE aid = ?', aid)
  db.run('INSERT INTO told_card (aid, withdrawn) VALUES (?, ?)', aid, now.isTold ? 0 : 1)
}

type Head = { fed_seq: number; aid: string; withdrawn: number }

function readTold(
  db: Database,
  { after, limit, bytesMax }: { after: number; limit: number; bytesMax: number },
): { told: ToldCard[]; more: boolean } {
  const heads = db.all<Head>(cardQueries.after, after, limit + 1)
  const told: ToldCard[] = []
  let bytes = 0
  for (const head of heads.slice(0, limit)) {
    const one = cardOf(db, head)
    if ('kel' in one) bytes += one.kel.length + one.keys.length
    if (told.length > 0 && bytes > bytesMax) return { told, more: true }
    told.push(one)
  }
  return { told, more: heads.length > told.length }
}

function cardOf(db: Database, { fed_seq, aid, withdrawn }: Head): ToldCard {
  const row =
    withdrawn === 1 ? undefined : db.one<{ kel: Uint8Array; keys: Uint8Array | null }>(cardQueries.agent, aid)
  return toldCardOf({ fed_seq, aid, ...(row ?? { kel: null, keys: null }) })
}

type Read = { fed_seq: number; cards: number }

const readOf = (db: Database, hub: string): Read =>
  db.one<Read>(cardQueries.read, hub) ?? { fed_seq: 0, cards: 0 }

export function takePeerCards(db: Database, { hub, items, fedSeq, max }: TakePeerCards): { left: number } {
  const held = readOf(db, hub)
  const before = new Map(items.map(aidOfCard).map(aid => [aid, isKept(db, hub, aid)]))
  let { cards } = held
  let left = 0
  for (const item of items) {
    const isFull = cards >= max && 'aid' in item && !isKept(db, hub, item.aid)
    if (isFull) left += 1
    else cards += take(db, hub, item)
  }
  const logs = new Map(items.flatMap(item => ('aid' in item ? [[item.aid, item.kel]] : [])))
  // the last word of a page counts, however often it changes in between
  for (const [aid, wasKept] of before) {
    const kept = isKept(db, hub, aid)
    if (kept !== wasKept) followCard(db, { aid, hub, kel: kept ? logs.get(aid) : undefined })
  }
  db.run(
    'INSERT INTO peer_cards_read (hub, fed_seq, cards) VALUES (?, ?, ?)' +
      ' ON CONFLICT (hub) DO UPDATE SET fed_seq = excluded.fed_seq, cards = excluded.cards',
    hub,
    Math.max(held.fed_seq, fedSeq),
    cards,
  )
  return { left }
}

/** Some at a time; whether that was all. A peer of which some are left is read from the start. */
export function forgetPeerCards(db: Database, hub: string): boolean {
  const cards = db.all<{ aid: string }>(cardQueries.some, hub, FORGOTTEN_AT_ONCE)
  for (const { aid } of cards) {
    db.run('DELETE FROM peer_card WHERE hub = ? AND aid = ?', hub, aid)
    followCard(db, { aid, hub, kel: undefined })
  }
  const isAll = cards.length < FORGOTTEN_AT_ONCE
  if (isAll) db.run('DELETE FROM peer_cards_read WHERE hub = ?', hub)
  else db.run('UPDATE peer_cards_read SET fed_seq = 0, cards = cards - ? WHERE hub = ?', cards.length, hub)
  return isAll
}

const isKept = (db: Database, hub: string, aid: string): boolean =>
  db.one(cardQueries.kept, hub, aid) !== undefined

/** By how many the cards of this hub became more. */
const take = (db: Database, hub: string, item: PeerCard): number =>
  'aid' in item
    ? db.run('INSERT OR IGNORE INTO peer_card (hub, aid) VALUES (?, ?)', hub, item.aid)
    : -db.run('DELETE FROM peer_card WHERE hub = ? AND aid = ?', hub, item.withdrawn)

const readAgents = (db: Database, hubs: readonly string[]): number =>
  hubs.reduce((sum, hub) => sum + readOf(db, hub).cards, 0)

export function peerCardsOver(reader: Database, writer: WriterClient): PeerCardStore {
  return {
    toldCards: async query => readTold(reader, query),
    takePeerCards: given => writer.write('takePeerCards', given),
    peerCardsRead: async hub => readOf(reader, hub).fed_seq,
    async forgetPeerCards(hub) {
      while (!(await writer.write('forgetPeerCards', hub)));
    },
    peersWithCards: async () =>
      reader.all<{ hub: string }>('SELECT hub FROM peer_cards_read').map(({ hub }) => hub),
    peerAgents: async hubs => readAgents(reader, hubs),
  }
}
