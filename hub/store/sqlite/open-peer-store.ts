/** Agents with open mail that peers told of, in the database. Changes run inside a transaction. */
import { isOfAny } from '../listing.ts'
import type {
  OpenPeerAgent,
  OpenPeerStore,
  OpenPeersQuery,
  TakeOpenAgents,
  ToldOpenAgent,
} from '../open-peer-port.ts'
import { peerAgentOf, type StoredPeerAgent, type StoredPeerRead, UNREAD } from '../open-peer-rows.ts'
import type { Database } from './database.ts'
import type { WriterClient } from './writer-client.ts'

export const openPeerQueries = {
  read: 'SELECT fed_seq, agents, pass FROM open_peer_read WHERE hub = ?',
  kept: 'SELECT seq FROM open_peer_agent WHERE aid = ? AND hub = ?',
  highest:
    'SELECT max(seq) AS seq FROM (SELECT seq FROM open_peer_agent WHERE aid = ?1 UNION ALL SELECT seq FROM open_card WHERE aid = ?1)',
  hubs: 'SELECT hub FROM open_peer_read',
  telling:
    'SELECT hub FROM open_peer_agent WHERE aid = ? AND hub IN (SELECT value FROM json_each(?)) ORDER BY n',
  untold: 'SELECT n FROM open_peer_agent WHERE hub = ? AND pass < ? LIMIT ?',
  one: 'SELECT * FROM open_peer_agent WHERE aid = ? AND hub IN (SELECT value FROM json_each(?)) ORDER BY n LIMIT 1',
  page:
    'SELECT * FROM open_peer_agent AS told WHERE n > ?1 AND hub IN (SELECT value FROM json_each(?2))' +
    ' AND NOT EXISTS (SELECT 1 FROM open_peer_agent AS first WHERE first.aid = told.aid AND first.n < told.n' +
    ' AND first.hub IN (SELECT value FROM json_each(?2))) ORDER BY n LIMIT ?3',
} as const

/** Other writes have their turn in between. */
const FORGOTTEN_AT_ONCE = 1000

const readOf = (db: Database, hub: string): StoredPeerRead =>
  db.one<StoredPeerRead>(openPeerQueries.read, hub) ?? UNREAD

export function takeOpenAgents(db: Database, { hub, agents, fedSeq, max }: TakeOpenAgents): { left: number } {
  const held = readOf(db, hub)
  let count = held.agents
  let left = 0
  for (const agent of agents) {
    const kept = db.one<{ seq: number }>(openPeerQueries.kept, agent.aid, hub)
    if (kept === undefined && count >= max) left += 1
    else if (takeOne(db, { hub, pass: held.pass }, agent, kept)) count += 1
  }
  db.run(
    'INSERT INTO open_peer_read (hub, fed_seq, agents) VALUES (?, ?, ?)' +
      ' ON CONFLICT (hub) DO UPDATE SET fed_seq = excluded.fed_seq, agents = excluded.agents',
    ...[hub, Math.max(held.fed_seq, fedSeq), count],
  )
  return { left }
}

/** Whether this hub told of one agent more. */
function takeOne(
  db: Database,
  by: { hub: string; pass: number },
  agent: OpenPeerAgent,
  kept: { seq: number } | undefined,
): boolean {
  const { seq: highest } = db.one<{ seq: number | null }>(openPeerQueries.highest, agent.aid) ?? {}
  const isOlder = agent.seq < (highest ?? 0)
  if (kept !== undefined && (isOlder || agent.seq === kept.seq)) {
    // what it is told with stays; the log may have grown under the same card
    const kel = isOlder ? undefined : agent.kel
    db.run(
      'UPDATE open_peer_agent SET pass = ?, kel = coalesce(?, kel) WHERE aid = ? AND hub = ?',
      ...[by.pass, kel ?? null, agent.aid, by.hub],
    )
    return false
  }
  if (!isOlder) put(db, by, agent)
  return kept === undefined && !isOlder
}

function put(
  db: Database,
  { hub, pass }: { hub: string; pass: number },
  { aid, name, caps, summary, kel, card, seq }: OpenPeerAgent,
): void {
  db.run(
    'INSERT INTO open_peer_agent (hub, aid, name, caps, summary, kel, card, seq, pass) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)' +
      ' ON CONFLICT (aid, hub) DO UPDATE SET name = excluded.name, caps = excluded.caps, summary = excluded.summary,' +
      ' kel = excluded.kel, card = excluded.card, seq = excluded.seq, pass = excluded.pass',
    ...[hub, aid, name, JSON.stringify(caps), summary, kel, card, seq, pass],
  )
}

export function rereadOpenAgents(db: Database, hub: string): true {
  db.run(
    'INSERT INTO open_peer_read (hub, fed_seq, agents, pass) VALUES (?, 0, 0, 1)' +
      ' ON CONFLICT (hub) DO UPDATE SET fed_seq = 0, pass = pass + 1',
    hub,
  )
  return true
}

/** Some at a time; whether that was all. */
export function dropUntold(db: Database, hub: string): boolean {
  const untold = db.all<{ n: number }>(openPeerQueries.untold, hub, readOf(db, hub).pass, FORGOTTEN_AT_ONCE)
  for (const { n } of untold) db.run('DELETE FROM open_peer_agent WHERE n = ?', n)
  if (untold.length > 0)
    db.run('UPDATE open_peer_read SET agents = agents - ? WHERE hub = ?', untold.length, hub)
  return untold.length < FORGOTTEN_AT_ONCE
}

export function forgetOpenAgents(db: Database, hub: string): true {
  db.run('DELETE FROM open_peer_agent WHERE hub = ?', hub)
  db.run('DELETE FROM open_peer_read WHERE hub = ?', hub)
  return true
}

function readPage(
  db: Database,
  { hubs, after, limit, caps }: OpenPeersQuery,
): { agents: ToldOpenAgent[]; next: number | undefined } {
  const rows = db.all<StoredPeerAgent>(openPeerQueries.page, after, JSON.stringify(hubs), limit)
  const agents = rows.map(peerAgentOf).filter(agent => isOfAny(agent.caps, caps))
  return { agents, next: rows.length < limit ? undefined : rows.at(-1)?.n }
}

export function openPeersOver(reader: Database, writer: WriterClient): OpenPeerStore {
  return {
    takeOpenAgents: given => writer.write('takeOpenAgents', given),
    openAgentsRead: async hub => readOf(reader, hub).fed_seq,
    async rereadOpenAgents(hub) {
      await writer.write('rereadOpenAgents', hub)
    },
    async dropUntold(hub) {
      while (!(await writer.write('dropUntold', hub)));
    },
    hubsOfOpenAgents: async () => reader.all<{ hub: string }>(openPeerQueries.hubs).map(({ hub }) => hub),
    hubsTelling: async (aid, hubs) =>
      reader.all<{ hub: string }>(openPeerQueries.telling, aid, JSON.stringify(hubs)).map(({ hub }) => hub),
    async forgetOpenAgents(hub) {
      await writer.write('forgetOpenAgents', hub)
    },
    async openPeerAgent(aid, hubs) {
      const row = reader.one<StoredPeerAgent>(openPeerQueries.one, aid, JSON.stringify(hubs))
      return row && peerAgentOf(row)
    },
    openPeerAgents: async query => readPage(reader, query),
    openPeerCount: async hubs => hubs.reduce((sum, hub) => sum + readOf(reader, hub).agents, 0),
  }
}
