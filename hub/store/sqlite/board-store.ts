/** The task board in the database. Changes run inside a transaction. */
import type { BoardCard, BoardEvent, BoardStore, PutBoardCard, PutBoardResult } from '../board-port.ts'
import { cardOf, type StoredCard } from '../board-rows.ts'
import type { Database } from './database.ts'
import type { WriterClient } from './writer-client.ts'

export const boardQueries = {
  card: 'SELECT * FROM board_card WHERE id = ?',
  cards: 'SELECT * FROM board_card ORDER BY n',
  column: 'SELECT * FROM board_card WHERE place = ? AND n > ? ORDER BY n LIMIT ?',
  ofCreator: 'SELECT count(*) AS n FROM board_card WHERE creator = ?',
  firstDone: "SELECT id FROM board_card WHERE place = 'done' AND updated_ms < ? ORDER BY updated_ms LIMIT 1",
  firstDoneOf:
    "SELECT id FROM board_card WHERE creator = ? AND place = 'done' AND updated_ms < ? ORDER BY updated_ms LIMIT 1",
  eventCount: 'SELECT count(*) AS n FROM board_event WHERE card = ?',
  events: 'SELECT seq, made_ms, at_ms, actor, action, detail FROM board_event WHERE card = ? ORDER BY seq',
  made: 'SELECT max(made_ms) AS ms FROM board_event WHERE card = ? AND actor = ?',
  done: 'SELECT 1 FROM board_event WHERE card = ? AND actor = ? AND made_ms = ? AND action = ?',
} as const

export function putBoardCard(db: Database, { card, event, limits }: PutBoardCard): PutBoardResult {
  const held = db.one<{ version: number }>('SELECT version FROM board_card WHERE id = ?', card.id)
  if ((held?.version ?? 0) !== card.version) return { outcome: 'conflict' }
  const room = held === undefined ? roomFor(db, card, limits) : { gone: [] }
  if (room.outcome !== undefined) return { outcome: room.outcome }
  if (card.column === 'in_progress' && inProgressBeside(db, card) >= limits.inProgressMax)
    return { outcome: 'tooManyInProgress' }
  for (const id of room.gone) remove(db, id)
  if (held === undefined) insert(db, card)
  else update(db, card)
  db.run(
    'INSERT INTO board_event (card, made_ms, at_ms, actor, action, detail) VALUES (?, ?, ?, ?, ?, ?)',
    ...[card.id, event.madeMs, event.atMs, event.actor, event.action, event.detail],
  )
  return { outcome: 'stored' }
}

type Room = { outcome?: 'boardFull' | 'tooManyOfCreator'; gone: string[] }

/** What has to go for a new card; an outcome where nothing may. */
function roomFor(db: Database, { creator }: BoardCard, limits: PutBoardCard['limits']): Room {
  const { ofCreatorMax, cardsMax, doneBeforeMs } = limits
  if (ofCreator(db, creator) >= ofCreatorMax) {
    const first = db.one<{ id: string }>(boardQueries.firstDoneOf, creator, doneBeforeMs)
    return first === undefined ? { outcome: 'tooManyOfCreator', gone: [] } : { gone: [first.id] }
  }
  if (countOf(db) < cardsMax) return { gone: [] }
  const first = db.one<{ id: string }>(boardQueries.firstDone, doneBeforeMs)
  return first === undefined ? { outcome: 'boardFull', gone: [] } : { gone: [first.id] }
}

function remove(db: Database, id: string): void {
  db.run('DELETE FROM board_event WHERE card = ?', id)
  db.run('DELETE FROM board_card WHERE id = ?', id)
}

const countOf = (db: Database): number =>
  db.one<{ n: number }>('SELECT count(*) AS n FROM board_card')?.n ?? 0

const ofCreator = (db: Database, creator: string): number =>
  db.one<{ n: number }>(boardQueries.ofCreator, creator)?.n ?? 0

const inProgressBeside = (db: Database, { id, assignee }: BoardCard): number =>
  db.one<{ n: number }>(
    "SELECT count(*) AS n FROM board_card WHERE place = 'in_progress' AND assignee = ? AND id <> ?",
    assignee ?? '',
    id,
  )?.n ?? 0

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
  ] as const

function insert(db: Database, card: BoardCard): void {
  db.run(
    'INSERT INTO board_card (version, title, taskdoc, state, place, before, assignee, updated_ms, id, creator, created_ms)' +
      ' VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
    ...values(card),
    card.id,
    card.creator,
    card.createdMs,
  )
}

function update(db: Database, card: BoardCard): void {
  db.run(
    'UPDATE board_card SET version = ?, title = ?, taskdoc = ?, state = ?, place = ?, before = ?, assignee = ?,' +
      ' updated_ms = ? WHERE id = ?',
    ...values(card),
    card.id,
  )
}

type StoredEvent = Omit<BoardEvent, 'madeMs' | 'atMs'> & { seq: number; made_ms: number; at_ms: number }

export function boardOver(reader: Database, writer: WriterClient): BoardStore {
  return {
    async boardCard(id) {
      const row = reader.one<StoredCard>(boardQueries.card, id)
      return row && cardOf(row)
    },
    boardCards: async () => reader.all<StoredCard>(boardQueries.cards).map(cardOf),
    async boardColumn({ column, after, limit }) {
      const rows = reader.all<StoredCard>(boardQueries.column, column, after, limit)
      return { cards: rows.map(cardOf), next: rows.length < limit ? undefined : rows.at(-1)?.n }
    },
    boardEventCount: async card => reader.one<{ n: number }>(boardQueries.eventCount, card)?.n ?? 0,
    boardEvents: async card =>
      reader
        .all<StoredEvent>(boardQueries.events, card)
        .map(({ made_ms: madeMs, at_ms: atMs, ...event }) => ({ ...event, madeMs, atMs })),
    boardDone: async ({ card, actor, madeMs, action }) => ({
      latestMs: reader.one<{ ms: number | null }>(boardQueries.made, card, actor)?.ms ?? 0,
      isRepeat: reader.one(boardQueries.done, card, actor, madeMs, action) !== undefined,
    }),
    putBoardCard: change => writer.write('putBoardCard', change),
  }
}
