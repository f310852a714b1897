/** Cards in PostgreSQL: those that peers are told, and those that they told. */
import type { PeerCard, PeerCardStore, TakePeerCards, ToldCard } from '../peer-card-port.ts'
import { aidOfCard, isCardNews, type StoredToldCard, toldCardOf } from '../peer-card-rows.ts'
import type { Queries } from './connections.ts'
import type { Write } from './groups.ts'
import { numberAll } from './told-numbers.ts'
import { followCard } from './told-reviews.ts'
import type { Writer } from './writes.ts'

export const cardQueries = {
  held: 'SELECT withdrawn FROM told_card WHERE aid = $1',
  // one row more than asked for says that there are more
  after:
    'SELECT fed_seq, aid, kel, keys FROM (SELECT head.*, kel, keys, row_number() OVER so_far AS place,' +
    ' sum(octet_length(kel) + octet_length(keys)) OVER so_far AS bytes FROM' +
    ' (SELECT fed_seq, aid, withdrawn FROM told_card WHERE fed_seq > $1 ORDER BY fed_seq LIMIT $2) AS head' +
    ' LEFT JOIN agent ON agent.aid = head.aid AND NOT withdrawn' +
    ' WINDOW so_far AS (ORDER BY fed_seq ROWS UNBOUNDED PRECEDING)) AS page' +
    ' WHERE place = 1 OR coalesce(bytes, 0) <= $3 ORDER BY fed_seq',
  some: 'SELECT aid FROM peer_card WHERE hub = $1 LIMIT $2',
  kept: 'SELECT aid FROM peer_card WHERE hub = $1 AND aid = ANY($2::text[])',
  read: 'SELECT fed_seq, cards FROM peer_cards_read WHERE hub = $1',
  hubs: 'SELECT hub FROM peer_cards_read',
  agents: 'SELECT coalesce(sum(cards), 0)::bigint AS n FROM peer_cards_read WHERE hub = ANY($1::text[])',
} as const

/** Other writes have their turn in between. */
const FORGOTTEN_AT_ONCE = 100

/** An agent was written: peers are told where it is known to them, and changed; or that it is told no more. */
export async function retellCard(
  db: Queries,
  aid: string,
  now: { isTold: boolean; isSame: boolean },
): Promise<void> {
  const held = await db.one<{ withdrawn: boolean }>(cardQueries.held, aid)
  if (!isCardNews(held?.withdrawn === false, now)) return
  await db.run('DELETE FROM told_card WHERE aid = $1', aid)
  await db.run('INSERT INTO told_card (aid, withdrawn) VALUES ($1, $2)', aid, !now.isTold)
}

async function readTold(
  reader: Queries,
  { after, limit, bytesMax }: { after: number; limit: number; bytesMax: number },
): Promise<{ told: ToldCard[]; more: boolean }> {
  const rows = await reader.all<StoredToldCard>(cardQueries.after, after, limit + 1, bytesMax)
  return { told: rows.slice(0, limit).map(toldCardOf), more: rows.length > limit }
}

type Read = { fed_seq: number; cards: number }

const readOf = async (db: Queries, hub: string): Promise<Read> =>
  (await db.one<Read>(cardQueries.read, hub)) ?? { fed_seq: 0, cards: 0 }

/** All that a peer tells is taken in one order. */
const subjectsOf = (hub: string): string[] => [`cards of ${hub}`]

export const takePeerCards: Write<TakePeerCards, { left: number }> = {
  locks: ({ hub, items }) => ({ subjects: subjectsOf(hub), aids: items.map(aidOfCard) }),
  async make(db, { hub, items, fedSeq, max }) {
    const held = await readOf(db, hub)
    const before = await keptOf(db, hub, items)
    const kept = new Set(before)
    const logs = new Map<string, Uint8Array>()
    let left = 0
    for (const item of items) {
      if ('withdrawn' in item) kept.delete(item.withdrawn)
      else {
        logs.set(item.aid, item.kel)
        const isFull = held.cards + kept.size - before.size >= max
        if (isFull && !kept.has(item.aid)) left += 1
        else kept.add(item.aid)
      }
    }
    const added = [...kept.difference(before)]
    const gone = [...before.difference(kept)]
    await add(db, hub, added)
    await remove(db, hub, gone)
    // the last word of a page counts, however often it changes in between
    for (const aid of added) await followCard(db, { aid, hub, kel: logs.get(aid) })
    for (const aid of gone) await followCard(db, { aid, hub, kel: undefined })
    await db.run(
      'INSERT INTO peer_cards_read (hub, fed_seq, cards) VALUES ($1, $2, $3)' +
        ' ON CONFLICT (hub) DO UPDATE SET fed_seq = excluded.fed_seq, cards = excluded.cards',
      ...[hub, Math.max(held.fed_seq, fedSeq), held.cards + added.length - gone.length],
    )
    return { left }
  },
}

const keptOf = async (db: Queries, hub: string, items: readonly PeerCard[]): Promise<Set<string>> =>
  new Set((await db.all<{ aid: string }>(cardQueries.kept, hub, items.map(aidOfCard))).map(({ aid }) => aid))

const add = (db: Queries, hub: string, aids: readonly string[]): Promise<number> =>
  db.run('INSERT INTO peer_card (hub, aid) SELECT $1, aid FROM unnest($2::text[]) AS aid', hub, aids)

const remove = (db: Queries, hub: string, aids: readonly string[]): Promise<number> =>
  db.run('DELETE FROM peer_card WHERE hub = $1 AND aid = ANY($2::text[])', hub, aids)

/** Forgets these; whether none are left. A peer of which some are left is read from the start. */
export const forgetPeerCards: Write<{ hub: string; aids: readonly string[] }, boolean> = {
  locks: ({ hub, aids }) => ({ subjects: subjectsOf(hub), aids }),
  async make(db, { hub, aids }) {
    const removed = await remove(db, hub, aids)
    for (const aid of aids) await followCard(db, { aid, hub, kel: undefined })
    const isAll = (await db.one(cardQueries.some, hub, 1)) === undefined
    if (isAll) await db.run('DELETE FROM peer_cards_read WHERE hub = $1', hub)
    else
      await db.run('UPDATE peer_cards_read SET fed_seq = 0, cards = cards - $1 WHERE hub = $2', removed, hub)
    return isAll
  },
}

export const peerCardsOver = (reader: Queries, writer: Writer): PeerCardStore => ({
  async toldCards(query) {
    await numberAll(reader, writer, 'told_card')
    return await readTold(reader, query)
  },
  takePeerCards: given => writer.write('takePeerCards', given),
  peerCardsRead: async hub => (await readOf(reader, hub)).fed_seq,
  async forgetPeerCards(hub) {
    for (let isAll = false; !isAll; ) {
      const some = await reader.all<{ aid: string }>(cardQueries.some, hub, FORGOTTEN_AT_ONCE)
      isAll = await writer.write('forgetPeerCards', { hub, aids: some.map(({ aid }) => aid) })
    }
  },
  peersWithCards: async () => (await reader.all<{ hub: string }>(cardQueries.hubs)).map(({ hub }) => hub),
  peerAgents: async hubs => (await reader.one<{ n: number }>(cardQueries.agents, hubs))?.n ?? 0,
})
