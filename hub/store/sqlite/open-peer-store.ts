/** Agents with open mail that peers told of, in the database. Changes run inside a transaction. */
import type {
  OpenPeerAgent,
  OpenPeerStore,
  OpenPeersQuery,
  TakeOpenAgents,
  ToldOpenAgent,
} from '../open-peer-port.ts'
import type { Database } from './database.ts'
import { isOfAny } from './listings.ts'
import type { WriterClient } from './writer-client.ts'

export const openPeerQueries = {
  read: 'SELECT fed_seq, agents FROM open_peer_read WHERE hub = ?',
  kept: 'SELECT n FROM open_peer_agent WHERE aid = ? AND hub = ?',
  one: 'SELECT * FROM open_peer_agent WHERE aid = ? AND hub IN (SELECT value FROM json_each(?)) ORDER BY n LIMIT 1',
  page:
    'SELECT * FROM open_peer_agent AS told WHERE n > ?1 AND hub IN (SELECT value FROM json_each(?2))' +
    ' AND NOT EXISTS (SELECT 1 FROM open_peer_agent AS first WHERE first.aid = told.aid AND first.n < told.n' +
    ' AND first.hub IN (SELECT value FROM json_each(?2))) ORDER BY n LIMIT ?3',
} as const

type Read = { fed_seq: number; agents: number }

const readOf = (db: Database, hub: string): Read =>
  db.one<Read>(openPeerQueries.read, hub) ?? { fed_seq: 0, agents: 0 }

export function takeOpenAgents(db: Database, { hub, agents, fedSeq, max }: TakeOpenAgents): { left: number } {
  const held = readOf(db, hub)
  let count = held.agents
  let left = 0
  for (const agent of agents) {
    const isKept = db.one(openPeerQueries.kept, agent.aid, hub) !== undefined
    if (!isKept && count >= max) left += 1
    else {
      if (!isKept) count += 1
      put(db, hub, agent)
    }
  }
  db.run(
    'INSERT INTO open_peer_read (hub, fed_seq, agents) VALUES (?, ?, ?)' +
      ' ON CONFLICT (hub) DO UPDATE SET fed_seq = excluded.fed_seq, agents = excluded.agents',
    ...[hub, Math.max(held.fed_seq, fedSeq), count],
  )
  return { left }
}

function put(db: Database, hub: string, { aid, name, caps, summary, kel, card }: OpenPeerAgent): void {
  db.run(
    'INSERT INTO open_peer_agent (hub, aid, name, caps, summary, kel, card) VALUES (?, ?, ?, ?, ?, ?, ?)' +
      ' ON CONFLICT (aid, hub) DO UPDATE SET name = excluded.name, caps = excluded.caps,' +
      ' summary = excluded.summary, kel = excluded.kel, card = excluded.card',
    ...[hub, aid, name, JSON.stringify(caps), summary, kel, card],
  )
}

export function forgetOpenAgents(db: Database, hub: string): true {
  db.run('DELETE FROM open_peer_agent WHERE hub = ?', hub)
  db.run('DELETE FROM open_peer_read WHERE hub = ?', hub)
  return true
}

type Stored = Omit<ToldOpenAgent, 'caps'> & { n: number; caps: string }

const toldOf = ({ n: _, caps, ...agent }: Stored): ToldOpenAgent => ({
  ...agent,
  caps: JSON.parse(caps) as string[],
})

function readPage(
  db: Database,
  { hubs, after, limit, caps }: OpenPeersQuery,
): { agents: ToldOpenAgent[]; next: number | undefined } {
  const rows = db.all<Stored>(openPeerQueries.page, after, JSON.stringify(hubs), limit)
  const agents = rows.map(toldOf).filter(agent => isOfAny(agent.caps, caps))
  return { agents, next: rows.length < limit ? undefined : rows.at(-1)?.n }
}

export function openPeersOver(reader: Database, writer: WriterClient): OpenPeerStore {
  return {
    takeOpenAgents: given => writer.write('takeOpenAgents', given),
    openAgentsRead: async hub => readOf(reader, hub).fed_seq,
    async forgetOpenAgents(hub) {
      await writer.write('forgetOpenAgents', hub)
    },
    async openPeerAgent(aid, hubs) {
      const row = reader.one<Stored>(openPeerQueries.one, aid, JSON.stringify(hubs))
      return row && toldOf(row)
    },
    openPeerAgents: async query => readPage(reader, query),
    openPeerCount: async hubs => hubs.reduce((sum, hub) => sum + readOf(reader, hub).agents, 0),
  }
}
