/** Tasks of the A2A interface, the messages of its clients, and what they are told; the one writer of these tables. */
import { blob, flag, integer, orNull, type RowOf, text } from './columns.ts'
import type { Store } from './open.ts'

export const a2aTasksTable = {
  name: 'a2a_tasks',
  columns: {
    key: integer,
    id: text,
    /** The AID that it is for; empty for a call of this node itself. */
    agent: text,
    context: text,
    interaction: orNull(integer),
    request: orNull(blob),
    ends: flag,
    state: text,
    stateAt: integer,
    /** The status as clients are told it, JSON. */
    status: text,
    over: flag,
    events: integer,
  },
} as const
export type A2aTaskRow = RowOf<typeof a2aTasksTable>

export const a2aMessagesTable = {
  name: 'a2a_messages',
  columns: {
    key: integer,
    agent: text,
    id: text,
    digest: blob,
    task: integer,
    message: orNull(integer),
    body: text,
  },
} as const
export type A2aMessageRow = RowOf<typeof a2aMessagesTable>

export const a2aEventsTable = {
  name: 'a2a_events',
  columns: { task: integer, n: integer, body: text, message: orNull(integer) },
} as const
export type A2aEventRow = RowOf<typeof a2aEventsTable>

export const a2aPushesTable = {
  name: 'a2a_pushes',
  columns: { task: integer, id: text, config: text, told: integer, tries: integer, nextAt: integer },
} as const
export type A2aPushRow = RowOf<typeof a2aPushesTable>

type NewTask = Pick<
  A2aTaskRow,
  'id' | 'agent' | 'context' | 'interaction' | 'request' | 'ends' | 'state' | 'stateAt' | 'status'
>

export function addA2aTask(store: Store, row: NewTask): A2aTaskRow {
  const { key } = store.run(
    `INSERT INTO a2a_tasks (id, agent, context, interaction, request, ends, state, state_at, status)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    row.id,
    row.agent,
    row.context,
    row.interaction,
    row.request,
    row.ends,
    row.state,
    row.stateAt,
    row.status,
  )
  return a2aTaskAt(store, key)
}

export function a2aTaskAt(store: Store, key: number): A2aTaskRow {
  const row = store.row<A2aTaskRow>('SELECT * FROM a2a_tasks WHERE key = ?', key)
  if (row === undefined) throw new Error(`there is no A2A task with the key ${key}`)
  return row
}

export function a2aTaskById(store: Store, id: string): A2aTaskRow | undefined {
  return store.row('SELECT * FROM a2a_tasks WHERE id = ?', id)
}

export function a2aTaskOf(store: Store, interaction: number): A2aTaskRow | undefined {
  return store.row('SELECT * FROM a2a_tasks WHERE interaction = ?', interaction)
}

export function unfinishedA2aTasks(store: Store): A2aTaskRow[] {
  return store.rows('SELECT * FROM a2a_tasks WHERE over = 0 ORDER BY key')
}

type Page = {
  agent: string | undefined
  context: string | undefined
  state: string | undefined
  /** Only what changed at this time or later, Unix ms. */
  since: number
  /** Where the page before ended. */
  before: { stateAt: number; key: number } | undefined
  limit: number
}

/** Tasks, the one that changed last first. */
export function listA2aTasks(store: Store, page: Page): A2aTaskRow[] {
  const { clause, parameters } = conditions(page)
  const { stateAt, key } = page.before ?? { stateAt: Number.MAX_SAFE_INTEGER, key: 0 }
  return store.rows(
    `SELECT * FROM a2a_tasks WHERE ${clause} AND (state_at, key) < (?, ?) ORDER BY state_at DESC, key DESC LIMIT ?`,
    ...parameters,
    stateAt,
    key,
    page.limit,
  )
}

export function countA2aTasks(store: Store, page: Omit<Page, 'before' | 'limit'>): number {
  const { clause, parameters } = conditions(page)
  return (
    store.get<{ n: number }>(`SELECT count(*) AS n FROM a2a_tasks WHERE ${clause}`, ...parameters)?.n ?? 0
  )
}

function conditions({ agent, context, state, since }: Pick<Page, 'agent' | 'context' | 'state' | 'since'>) {
  const given: [string, string | number | undefined][] = [
    ['state_at >= ?', since],
    ['agent = ?', agent],
    ['context = ?', context],
    ['state = ?', state],
  ]
  const kept = given.flatMap(([sql, value]) => (value === undefined ? [] : [{ sql, value }]))
  return { clause: kept.map(({ sql }) => sql).join(' AND '), parameters: kept.map(({ value }) => value) }
}

/** A call that was paid for has an interaction from then on; a task that was paid for goes on as another one. */
export function setA2aInteraction(store: Store, key: number, interaction: number): void {
  store.run('UPDATE a2a_tasks SET interaction = ?, request = NULL WHERE key = ?', interaction, key)
}

export function setA2aEnds(store: Store, key: number): void {
  store.run('UPDATE a2a_tasks SET ends = 1 WHERE key = ?', key)
}

/** Tells the clients something more; `standing` where that changes how it stands. */
export function addA2aEvent(
  store: Store,
  key: number,
  event: { body: string; message: number | null },
  standing?: { state: string; at: number; status: string; isOver: boolean },
): void {
  store.run('UPDATE a2a_tasks SET events = events + 1 WHERE key = ?', key)
  store.run(
    'INSERT INTO a2a_events SELECT key, events, ?2, ?3 FROM a2a_tasks WHERE key = ?1',
    key,
    event.body,
    event.message,
  )
  if (standing !== undefined)
    store.run(
      'UPDATE a2a_tasks SET state = ?, state_at = ?, status = ?, over = ? WHERE key = ?',
      standing.state,
      standing.at,
      standing.status,
      standing.isOver ? 1 : 0,
      key,
    )
}

export function a2aEventsAfter(store: Store, task: number, n: number): A2aEventRow[] {
  return store.rows('SELECT * FROM a2a_events WHERE task = ? AND n > ? ORDER BY n', task, n)
}

/** The newest message of the thread that clients were told of. */
export function toldUpTo(store: Store, task: number): number {
  const row = store.get<{ key: number | null }>(
    'SELECT max(message) AS key FROM a2a_events WHERE task = ?',
    task,
  )
  return row?.key ?? 0
}

export function a2aMessage(store: Store, agent: string, id: string): A2aMessageRow | undefined {
  return store.row('SELECT * FROM a2a_messages WHERE agent = ? AND id = ?', agent, id)
}

export function addA2aMessage(store: Store, row: Omit<A2aMessageRow, 'key'>): void {
  store.run(
    'INSERT INTO a2a_messages (agent, id, digest, task, message, body) VALUES (?, ?, ?, ?, ?, ?)',
    row.agent,
    row.id,
    row.digest,
    row.task,
    row.message,
    row.body,
  )
}

/** Messages of a client in a task, in the order in which they came. */
export function a2aMessagesOf(store: Store, task: number): A2aMessageRow[] {
  return store.rows('SELECT * FROM a2a_messages WHERE task = ? ORDER BY key', task)
}

export function putA2aPush(store: Store, row: Omit<A2aPushRow, 'tries'>): void {
  store.run(
    'INSERT OR REPLACE INTO a2a_pushes (task, id, config, told, next_at) VALUES (?, ?, ?, ?, ?)',
    row.task,
    row.id,
    row.config,
    row.told,
    row.nextAt,
  )
}

export function a2aPush(store: Store, task: number, id: string): A2aPushRow | undefined {
  return store.row('SELECT * FROM a2a_pushes WHERE task = ? AND id = ?', task, id)
}

export function a2aPushesOf(store: Store, task: number): A2aPushRow[] {
  return store.rows('SELECT * FROM a2a_pushes WHERE task = ? ORDER BY id', task)
}

export function removeA2aPush(store: Store, task: number, id: string): void {
  store.run('DELETE FROM a2a_pushes WHERE task = ? AND id = ?', task, id)
}

export const countA2aPushes = (store: Store): number =>
  store.get<{ n: number }>('SELECT count(*) AS n FROM a2a_pushes')?.n ?? 0

/** Calls nobody any more; how many that were. */
export function removeA2aPushes(store: Store): number {
  return store.run('DELETE FROM a2a_pushes').changes
}

/** Those that have something to tell, and whose time it is. */
export function dueA2aPushes(store: Store, now: number, max: number): A2aPushRow[] {
  return store.rows(
    `SELECT p.* FROM a2a_pushes AS p JOIN a2a_tasks AS t ON t.key = p.task
     WHERE p.next_at <= ? AND t.events > p.told ORDER BY p.next_at LIMIT ?`,
    now,
    max,
  )
}

export function notePushed(store: Store, { task, id }: A2aPushRow, told: number): void {
  store.run('UPDATE a2a_pushes SET told = ?, tries = 0 WHERE task = ? AND id = ?', told, task, id)
}

export function putOffPush(store: Store, { task, id }: A2aPushRow, nextAt: number): void {
  store.run(
    'UPDATE a2a_pushes SET tries = tries + 1, next_at = ? WHERE task = ? AND id = ?',
    nextAt,
    task,
    id,
  )
}

/** Pushes that a clock which ran ahead has put off. */
export function takeUpPushes(store: Store, now: number, furthest: number): void {
  store.run('UPDATE a2a_pushes SET next_at = ? WHERE next_at > ?', now, furthest)
}
