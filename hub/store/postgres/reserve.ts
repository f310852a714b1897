/**
 * Room in the database for a full disk. Whatever makes room gives it up where it finds none; new mail gets nothing of it.
 * Processes that serve fill it again, as far as the disk has room.
 */
import { StoreFull } from '../port.ts'
import type { Connections, Queries } from './connections.ts'
import { NOW } from './state.ts'

/** Two files of the log, which may lie on the same disk. */
const RESERVE_BYTES = 32 * 1024 * 1024
/** Added at a time, each on a page of its own. */
const ROWS = 512
/** For so long whoever collects and confirms has the room alone. */
const GIVEN_UP_MS = 10_000

const GIVE_UP = 'TRUNCATE reserve'
const NOTE_GIVEN_UP = `UPDATE reserve_given_up SET at_ms = ${NOW}`
const LOCK = "pg_try_advisory_xact_lock(hashtextextended('svc-hub reserve', 0))"
const STATE =
  `SELECT ${LOCK} AS mine, pg_relation_size('reserve') AS bytes,` +
  ` ${NOW} - (SELECT max(at_ms) FROM reserve_given_up) < ${GIVEN_UP_MS} AS "isRecent"`
const ADD = "INSERT INTO reserve (filler) SELECT repeat('-', 400) FROM generate_series(1, $1)"
const NOTE_KEPT = 'UPDATE reserve_given_up SET at_ms = 0 WHERE at_ms <> 0'
/** A crash empties the table. */
const NOTE_ANEW =
  'INSERT INTO reserve_given_up (at_ms) SELECT 0 WHERE NOT EXISTS (SELECT FROM reserve_given_up)'

/** For a question of one row: whether there is no room for new mail. */
export const IS_GIVEN_UP = 'coalesce((SELECT max(at_ms) FROM reserve_given_up) > 0, false)'

/** What keeps new mail out meanwhile. */
export type NoRoom = { outcome: 'noRoom' }

export const noRoomForMail = (): StoreFull =>
  new StoreFull('the disk of the database is full: what room is left is kept for collecting mail')

type State = { mine: boolean; bytes: number; isRecent: boolean | null }

export class Reserve {
  readonly #connections: Connections
  #giving: Promise<void> | undefined

  constructor(connections: Connections) {
    this.#connections = connections
  }

  /** Resolves once it is given up, or can't be. */
  giveUp(): Promise<void> {
    this.#giving ??= this.#connections
      .transaction(async db => {
        await db.run(GIVE_UP)
        await db.run(NOTE_GIVEN_UP)
      })
      .catch(() => undefined)
      .finally(() => {
        this.#giving = undefined
      })
    return this.#giving
  }

  /** Fills it, one process at a time. Where the disk is full, what there is of it is the reserve. */
  async keep(): Promise<void> {
    try {
      while (await this.#connections.transaction(addSome));
    } catch (error) {
      if (!(error instanceof StoreFull)) throw error
      await this.#connections.transaction(noteKept)
    }
  }
}

/** Whether there may be more to add. */
async function addSome(db: Queries): Promise<boolean> {
  const state = await db.one<State>(STATE)
  if (state === undefined || !state.mine || state.isRecent === true) return false
  const isWhole = state.bytes >= RESERVE_BYTES
  if (isWhole) await noteKept(db)
  else await db.run(ADD, ROWS)
  return !isWhole
}

async function noteKept(db: Queries): Promise<void> {
  await db.run(NOTE_KEPT)
  await db.run(NOTE_ANEW)
}
