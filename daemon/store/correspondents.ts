/** Whom this node has tasks with, and since when: what it may ask of them, and they of it. */
import { kinds } from '../../protocol/mail/payload.ts'
import type { Store } from './open.ts'

/** Known peers of tasks that go on, those of the newest first. */
export const peersOfOpenTasks = (store: Store, max: number): string[] =>
  store
    .all<{ peer: string }>(
      `SELECT peer FROM interactions WHERE state IN ('open', 'end_proposed') AND peer IN (SELECT aid FROM peers)
       GROUP BY peer ORDER BY max(updated_at) DESC LIMIT ?`,
      max,
    )
    .map(({ peer }) => peer)

/** Contacts whose keys are known, and the peers of tasks that go on. */
export const correspondents = (store: Store): string[] =>
  store
    .all<{ aid: string }>(
      `SELECT aid FROM contacts WHERE petname IS NOT NULL AND blocked = 0 AND aid IN (SELECT aid FROM peers)
       UNION SELECT peer FROM interactions WHERE state IN ('delivered', 'open', 'end_proposed')`,
    )
    .map(({ aid }) => aid)

/** Whether a task with this peer goes on, or one that it was given waits there. */
export const hasOpenTaskWith = (store: Store, peer: string): boolean =>
  store.get(
    `SELECT 1 FROM interactions WHERE peer = ? AND (state IN ('open', 'end_proposed')
       OR (side = 'sent' AND state = 'delivered')) LIMIT 1`,
    peer,
  ) !== undefined

/** Whether there is a task with this peer that was not turned down, withdrawn, or left unanswered. */
export const hasTaskWith = (store: Store, peer: string): boolean =>
  store.get(
    "SELECT 1 FROM interactions WHERE peer = ? AND state NOT IN ('declined', 'cancelled', 'failed', 'expired') LIMIT 1",
    peer,
  ) !== undefined

/** Whether a task with this peer has been such that either wrote to the other: a task in words that waits is none. */
export const hasSharedTaskWith = (store: Store, peer: string): boolean =>
  store.get(
    `SELECT 1 FROM interactions WHERE peer = ? AND CASE side
       WHEN 'sent' THEN state NOT IN ('declined', 'failed')
       ELSE capability IS NULL AND state IN ('open', 'end_proposed', 'ended') END LIMIT 1`,
    peer,
  ) !== undefined

type Span = { since: number; until: number }

/** Whether a task was delegated to this peer within that time. */
export const hasDelegatedTo = (store: Store, peer: string, { since, until }: Span): boolean =>
  store.get(
    "SELECT 1 FROM interactions WHERE peer = ? AND updated_at > ? AND started_at > ? AND started_at <= ? AND side = 'sent' LIMIT 1",
    peer,
    since,
    since,
    until,
  ) !== undefined

/** Whether capabilities were sent to this peer, or asked of it, within that time. */
export const hasAskedForCapabilities = (store: Store, peer: string, { since, until }: Span): boolean =>
  store.get(
    'SELECT 1 FROM messages WHERE interaction IS NULL AND recipient = ? AND kind = ? AND at > ? AND at <= ? LIMIT 1',
    peer,
    kinds.capabilities,
    since,
    until,
  ) !== undefined

/** What is on its way to a peer and brings it capabilities: everything that is queued, and capabilities that left lately. */
export const capabilitiesUnderway = (
  store: Store,
  peer: string,
  since: number,
): { state: 'queued' | 'at_hub'; granted: Uint8Array | null }[] =>
  store.all(
    `SELECT o.state, o.granted FROM outbox AS o JOIN messages AS m ON m.key = o.message
     WHERE o.peer = ? AND (o.state = 'queued' OR (m.kind = ? AND m.at > ?)) ORDER BY o.message DESC LIMIT 64`,
    peer,
    kinds.capabilities,
    since,
  )

/** How often this peer was asked, or told, since then which messages are held. */
export const numbersSentSince = (store: Store, peer: string, since: number): number =>
  store.get<{ n: number }>(
    'SELECT count(*) AS n FROM messages WHERE interaction IS NULL AND recipient = ? AND kind = ? AND at > ?',
    peer,
    kinds.numbers,
    since,
  )?.n ?? 0

type Question = { at: number; payload: Uint8Array }

/** What this peer was asked, or told, since then about the messages that are held. */
export const numbersSentTo = (store: Store, peer: string, since: number): Question[] =>
  store.all(
    'SELECT at, payload FROM messages WHERE interaction IS NULL AND recipient = ? AND kind = ? AND at >= ?',
    peer,
    kinds.numbers,
    since,
  )

/** The question of this id that a sender has asked a peer. */
export const numbersSent = (
  store: Store,
  { sender, id, peer }: { sender: string; id: Uint8Array; peer: string },
): Question | undefined =>
  store.get(
    'SELECT payload, at FROM messages WHERE sender = ? AND message_id = ? AND recipient = ? AND kind = ?',
    sender,
    id,
    peer,
    kinds.numbers,
  )
