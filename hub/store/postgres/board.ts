/** The task board in PostgreSQL: one board, so whoever writes a card waits for whoever writes another one. */
import type { BoardCard, BoardEvent, BoardStore, PutBoardCard, PutBoardResult } from '../board-port.ts'
import { cardOf, type StoredCard } from '../board-rows.ts'
import type { Queries, Value } from './connections.ts'
import type { Write } from './groups.ts'
import type { Writer } from './writes.ts'

const COLUMNS =
  'n, id, version, title, taskdoc, state, place, before, creator, assignee, created_ms, updated_ms'

export const boardQueries = {
  card: `SELECT ${COLUMNS} FROM board_card WHERE id = $1`,
  cards: `SELECT ${COLUMNS} FROM board_card ORDER BY n`,
  column: `SELECT ${COLUMNS} FROM board_card WHERE place = $1 AND n > $2 ORDER BY n LIMIT $3`,
  ofCreator: 'SELECT count(*) AS n FROM board_card WHERE creator = $1',
  firstDone: "SELECT id FROM board_card WHERE place = 'done' AND updated_ms < $1 ORDER BY updated_ms LIMIT 1",
  firstDoneOf:
    "SELECT id FROM board_card WHERE creator = $1 AND place = 'done' AND updated_ms < $2 ORDER BY updated_ms LIMIT 1",
  eventCount: 'SELECT count(*) AS n FROM board_event WHERE card = $1',
  events: 'SELECT seq, made_ms, at_ms, actor, action, detail FROM board_event WHERE card = $1 ORDER BY seq',
  made: 'SELECT max(made_ms) AS ms FROM board_event WHERE card = $1 AND actor = $2',
  done: 'SELECT 1 FROM board_event WHERE card = $1 AND actor = $2 AND made_ms = $3 AND action = $4 LIMIT 1',
} as const

export const putBoardCard: Write<PutBoardCard, PutBoardResult> = {
  locks: () => ({ subjects: ['board'] }),
  async make(db, { card, event, limits }) {
    const held = await db.one<{ version: number }>('SELECT version FROM board_card WHERE id = $1', card.id)
    if ((held?.version ?? 0) !== card.version) return { outcome: 'conflict' }
    const room = held === undefined ? await roomFor(db, card, limits) : { gone: [] }
    if (room.outcome !== undefined) return { outcome: room.outcome }
    if (card.column === 'in_progress' && (await inProgressBeside(db, card)) >= limits.inProgressMax)
      return { outcome: 'tooManyInProgress' }
    for (const id of room.gone) await remove(db, id)
    await (held === undefined ? insert(db, card) : update(db, card))
    await db.run(
      'INSERT INTO board_event (card, made_ms, at_ms, actor, action, detail) VALUES ($1, $2, $3, $4, $5, $6)',
      ...[card.id, event.madeMs, event.atMs, event.actor, event.action, event.detail],
    )
    return { outcome: 'stored' }
  },
}

type Room = { outcome?: 'boardFull' | 'tooManyOfCreator'; gone: string[] }

/** What has to go for a new card; an outcome where nothing may. */
async function roomFor(db: Queries, { creator }: BoardCard, limits: PutBoardCard['limits']): Promise<Room> {
  const { ofCreatorMax, cardsMax, doneBeforeMs } = limits
  if ((await countOf(db, boardQueries.ofCreator, creator)) >= ofCreatorMax) {
    const first = await db.one<{ id: string }>(boardQueries.firstDoneOf, creator, doneBeforeMs)
    return first === undefined ? { outcome: 'tooManyOfCreator', gone: [] } : { gone: [first.id] }
  }
  if ((await countOf(db, 'SELECT count(*) AS n FROM board_card')) < cardsMax) return { gone: [] }
  const first = await db.one<{ id: string }>(boardQueries.firstDone, doneBeforeMs)
  return first === undefined ? { outcome: 'boardFull', gone: [] } : { gone: [first.id] }
}

async function remove(db: Queries, id: string): Promise<void> {
  await db.run('DELETE FROM board_event WHERE card = $1', id)
  await db.run('DELETE FROM board_card WHERE id = $1', id)
}

const countOf = async (db: Queries, sql: string, ...values: Value[]): Promise<number> =>
  (await db.one<{ n: number }>(sql, ...values))?.n ?? 0

const inProgressBeside = (db: Queries, { id, assignee }: BoardCard): Promise<number> =>
  countOf(
    db,
    "SELECT count(*) AS n FROM board_card WHERE place = 'in_progress' AND assignee = $1 AND id <> $2",
    assignee ?? '',
    id,
  )

const values = (card: BoardCard) =>
  [
    card.version + 1,
    card.title,
    card.taskdoc,
    card.state,
    card.column,
    card.before ?? null,
    card.assignee ?? null,
    card.updatedMs,
    card.id,
  ] as const

async function insert(db: Queries, card: BoardCard): Promise<void> {
  await db.run(
    'INSERT INTO board_card (version, title, taskdoc, state, place, before, assignee, updated_ms, id, creator, created_ms)' +
      ' VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)',
    ...values(card),
    card.creator,
    card.createdMs,
  )
}

async function update(db: Queries, card: BoardCard): Promise<void> {
  await db.run(
    'UPDATE board_card SET version = $1, title = $2, taskdoc = $3, state = $4, place = $5, before = $6, assignee = $7,' +
      ' updated_ms = $8 WHERE id = $9',
    ...values(card),
  )
}

type StoredEvent = Omit<BoardEvent, 'madeMs' | 'atMs'> & { seq: number; made_ms: number; at_ms: number }

export function boardOver(reader: Queries, writer: Writer): BoardStore {
  return {
    async boardCard(id) {
      const row = await reader.one<StoredCard>(boardQueries.card, id)
      return row && cardOf(row)
    },
    boardCards: async () => (await reader.all<StoredCard>(boardQueries.cards)).map(cardOf),
    async boardColumn({ column, after, limit }) {
      const rows = await reader.all<StoredCard>(boardQueries.column, column, after, limit)
      return { cards: rows.map(cardOf), next: rows.length < limit ? undefined : rows.at(-1)?.n }
    },
    boardEventCount: card => countOf(reader, boardQueries.eventCount, card),
    async boardEvents(card) {
      const rows = await reader.all<StoredEvent>(boardQueries.events, card)
      return rows.map(({ made_ms: madeMs, at_ms: atMs, ...event }) => ({ ...event, madeMs, atMs }))
    },
    async boardDone({ card, actor, madeMs, action }) {
      const made = await reader.one<{ ms: number | null }>(boardQueries.made, card, actor)
      const repeat = await reader.one(boardQueries.done, card, actor, madeMs, action)
      return { latestMs: made?.ms ?? 0, isRepeat: repeat !== undefined }
    },
    putBoardCard: change => writer.write('putBoardCard', change),
  }
}
