/** Agents with open mail that peers told of, in PostgreSQL. */
import { isOfAny } from '../listing.ts'
import type {
  OpenPeerAgent,
  OpenPeerStore,
  OpenPeersQuery,
  TakeOpenAgents,
  ToldOpenAgent,
} from '../open-peer-port.ts'
import { peerAgentOf, type StoredPeerAgent, type StoredPeerRead, UNREAD } from '../open-peer-rows.ts'
import type { Queries } from './connections.ts'
import type { Write } from './groups.ts'
import type { Writer } from './writes.ts'

export const openPeerQueries = {
  read: 'SELECT fed_seq, agents, pass FROM open_peer_read WHERE hub = $1',
  // what this hub told of each, and the highest number of any card that was told or had here
  known:
    'SELECT asked.aid, (SELECT seq FROM open_peer_agent AS told WHERE told.aid = asked.aid AND told.hub = $2) AS kept,' +
    ' coalesce(greatest((SELECT max(seq) FROM open_peer_agent AS told WHERE told.aid = asked.aid),' +
    ' (SELECT seq FROM open_card WHERE open_card.aid = asked.aid)), 0) AS highest' +
    ' FROM unnest($1::text[]) AS asked (aid)',
  hubs: 'SELECT hub FROM open_peer_read',
  telling: 'SELECT hub FROM open_peer_agent WHERE aid = $1 AND hub = ANY($2::text[]) ORDER BY n',
  one: 'SELECT * FROM open_peer_agent WHERE aid = $1 AND hub = ANY($2::text[]) ORDER BY n LIMIT 1',
  page:
    'SELECT * FROM open_peer_agent AS told WHERE n > $1 AND hub = ANY($2::text[])' +
    ' AND NOT EXISTS (SELECT FROM open_peer_agent AS first WHERE first.aid = told.aid AND first.n < told.n' +
    ' AND first.hub = ANY($2::text[])) ORDER BY n LIMIT $3',
  count: 'SELECT coalesce(sum(agents), 0)::bigint AS n FROM open_peer_read WHERE hub = ANY($1::text[])',
} as const

/** Other writes have their turn in between. */
const FORGOTTEN_AT_ONCE = 1000

const readOf = async (db: Queries, hub: string): Promise<StoredPeerRead> =>
  (await db.one<StoredPeerRead>(openPeerQueries.read, hub)) ?? UNREAD

/** All that a peer tells is taken in one order. */
const subjectsOf = (hub: string): string[] => [`open agents of ${hub}`]
const locksOf = (hub: string) => ({ subjects: subjectsOf(hub) })

type By = { hub: string; pass: number }
type Known = { kept: number | null; highest: number }

export const takeOpenAgents: Write<TakeOpenAgents, { left: number }> = {
  locks: ({ hub, agents }) => ({ subjects: subjectsOf(hub), aids: agents.map(({ aid }) => aid) }),
  async make(db, { hub, agents, fedSeq, max }) {
    const held = await readOf(db, hub)
    const known = await knownOf(db, hub, agents)
    let count = held.agents
    let left = 0
    for (const agent of agents) {
      const before = known.get(agent.aid) ?? { kept: null, highest: 0 }
      if (before.kept === null && count >= max) left += 1
      else {
        const after = await takeOne(db, { hub, pass: held.pass }, agent, before)
        if (before.kept === null && after.kept !== null) count += 1
        known.set(agent.aid, after)
      }
    }
    await db.run(
      'INSERT INTO open_peer_read (hub, fed_seq, agents) VALUES ($1, $2, $3)' +
        ' ON CONFLICT (hub) DO UPDATE SET fed_seq = excluded.fed_seq, agents = excluded.agents',
      ...[hub, Math.max(held.fed_seq, fedSeq), count],
    )
    return { left }
  },
}

async function knownOf(
  db: Queries,
  hub: string,
  agents: readonly OpenPeerAgent[],
): Promise<Map<string, Known>> {
  const aids = [...new Set(agents.map(({ aid }) => aid))]
  const rows = await db.all<Known & { aid: string }>(openPeerQueries.known, aids, hub)
  return new Map(rows.map(({ aid, ...known }) => [aid, known]))
}

async function takeOne(db: Queries, by: By, agent: OpenPeerAgent, before: Known): Promise<Known> {
  const isOlder = agent.seq < before.highest
  if (before.kept !== null && (isOlder || agent.seq === before.kept)) {
    // what it is told with stays; the log may have grown under the same card
    await db.run(
      'UPDATE open_peer_agent SET pass = $1, kel = coalesce($2, kel) WHERE aid = $3 AND hub = $4',
      ...[by.pass, isOlder ? null : agent.kel, agent.aid, by.hub],
    )
    return before
  }
  if (isOlder) return before
  await put(db, by, agent)
  return { kept: agent.seq, highest: agent.seq }
}

async function put(
  db: Queries,
  { hub, pass }: By,
  { aid, name, caps, summary, kel, card, seq }: OpenPeerAgent,
): Promise<void> {
  await db.run(
    'INSERT INTO open_peer_agent (hub, aid, name, caps, summary, kel, card, seq, pass)' +
      ' VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)' +
      ' ON CONFLICT (aid, hub) DO UPDATE SET name = excluded.name, caps = excluded.caps, summary = excluded.summary,' +
      ' kel = excluded.kel, card = excluded.card, seq = excluded.seq, pass = excluded.pass',
    ...[hub, aid, name, JSON.stringify(caps), summary, kel, card, seq, pass],
  )
}

export const rereadOpenAgents: Write<string, void> = {
  locks: locksOf,
  async make(db, hub) {
    await db.run(
      'INSERT INTO open_peer_read (hub, fed_seq, agents, pass) VALUES ($1, 0, 0, 1)' +
        ' ON CONFLICT (hub) DO UPDATE SET fed_seq = 0, pass = open_peer_read.pass + 1',
      hub,
    )
  },
}

/** Some at a time; whether that was all. */
export const dropUntold: Write<string, boolean> = {
  locks: locksOf,
  async make(db, hub) {
    const { pass } = await readOf(db, hub)
    const dropped = await db.run(
      'DELETE FROM open_peer_agent WHERE n IN (SELECT n FROM open_peer_agent WHERE hub = $1 AND pass < $2 LIMIT $3)',
      ...[hub, pass, FORGOTTEN_AT_ONCE],
    )
    if (dropped > 0)
      await db.run('UPDATE open_peer_read SET agents = agents - $1 WHERE hub = $2', dropped, hub)
    return dropped < FORGOTTEN_AT_ONCE
  },
}

export const forgetOpenAgents: Write<string, void> = {
  locks: locksOf,
  async make(db, hub) {
    await db.run('DELETE FROM open_peer_agent WHERE hub = $1', hub)
    await db.run('DELETE FROM open_peer_read WHERE hub = $1', hub)
  },
}

async function readPage(
  reader: Queries,
  { hubs, after, limit, caps }: OpenPeersQuery,
): Promise<{ agents: ToldOpenAgent[]; next: number | undefined }> {
  const rows = await reader.all<StoredPeerAgent>(openPeerQueries.page, after, hubs, limit)
  const agents = rows.map(peerAgentOf).filter(agent => isOfAny(agent.caps, caps))
  return { agents, next: rows.length < limit ? undefined : rows.at(-1)?.n }
}

export const openPeersOver = (reader: Queries, writer: Writer): OpenPeerStore => ({
  takeOpenAgents: given => writer.write('takeOpenAgents', given),
  openAgentsRead: async hub => (await readOf(reader, hub)).fed_seq,
  rereadOpenAgents: hub => writer.write('rereadOpenAgents', hub),
  async dropUntold(hub) {
    while (!(await writer.write('dropUntold', hub)));
  },
  hubsOfOpenAgents: async () =>
    (await reader.all<{ hub: string }>(openPeerQueries.hubs)).map(({ hub }) => hub),
  hubsTelling: async (aid, hubs) =>
    (await reader.all<{ hub: string }>(openPeerQueries.telling, aid, hubs)).map(({ hub }) => hub),
  forgetOpenAgents: hub => writer.write('forgetOpenAgents', hub),
  async openPeerAgent(aid, hubs) {
    const row = await reader.one<StoredPeerAgent>(openPeerQueries.one, aid, hubs)
    return row && peerAgentOf(row)
  },
  openPeerAgents: query => readPage(reader, query),
  openPeerCount: async hubs => (await reader.one<{ n: number }>(openPeerQueries.count, hubs))?.n ?? 0,
})
