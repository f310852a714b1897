/** Which processes of a hub live: each beats every two seconds, by the clock of the database. */
import type { Timer, Timers } from '../../protocol/timers.ts'
import type { Queries } from '../store/postgres/connections.ts'
import { NOW, SILENT_MS } from '../store/postgres/state.ts'
import type { AgreedClock } from './clock.ts'
import { HISTORY_SETTING, type History, noteHistory, type Standing, standingOf } from './one-history.ts'

const BEAT_EVERY_MS = 2000

const BEAT = `
INSERT INTO process (id, release, beat_ms, key_events, head, peers) VALUES ($1, $2, ${NOW}, $3, $4, $5)
ON CONFLICT (id) DO UPDATE SET beat_ms = excluded.beat_ms, key_events = excluded.key_events,
  head = excluded.head, peers = excluded.peers`
const LIVE = `
SELECT count(*) AS live, ${NOW} AS "nowMs", (SELECT max(number) FROM schema_held) AS schema,
  (SELECT value FROM setting WHERE name = $1) AS noted
FROM process WHERE beat_ms > ${NOW} - ${SILENT_MS}`

/** What each machine of a hub has a copy of: its key history, and a hash of its list of peers. */
export type Copies = { history: History; peers: string }
type Seen = { live: number; noted: string | null; nowMs: number; schema: number }
type Parts = {
  db: Queries
  timers: Timers
  clock: AgreedClock
  id: string
  release: string
  /** The newest schema that this build knows, and who hears of a newer one. */
  known: { schema: number; onNewer: ((schema: number) => void) | undefined }
  /** A command looks who lives, and is none of them. */
  serves: boolean
  copies: () => Copies
  /** The key history on this machine stands in another way to that of the hub than before. */
  onStanding?: ((standing: Standing) => void) | undefined
}

export class Processes {
  readonly #parts: Parts
  #timer: Timer | undefined
  #live: number
  #standing: Standing = 'held'
  #schema: number

  constructor(parts: Parts) {
    this.#parts = parts
    this.#schema = parts.known.schema
    this.#live = parts.serves ? 1 : 0
  }

  /** How many live, this one among them where it serves. */
  get live(): number {
    return this.#live
  }

  /** How the key history on this machine stands to that of the hub. */
  get standing(): Standing {
    return this.#standing
  }

  async start(): Promise<void> {
    await this.look()
    this.#timer = this.#parts.timers.every(BEAT_EVERY_MS, () => void this.look().catch(() => undefined))
    this.#timer.unref()
  }

  async close(): Promise<void> {
    const { db, timers, id } = this.#parts
    timers.clear(this.#timer)
    await db.run('DELETE FROM process WHERE id = $1', id).catch(() => undefined)
  }

  /** Says that this one lives, and looks who else does. */
  async look(): Promise<void> {
    const { db, clock, id, release, serves, known, copies } = this.#parts
    const { history, peers } = copies()
    if (serves) await db.run(BEAT, id, release, history.length, history.at(-1) ?? '', peers)
    const row = await clock.look(() => db.one<Seen>(LIVE, HISTORY_SETTING))
    if (row === undefined) return
    const noted = row.noted ?? undefined
    const standing = standingOf(history, noted)
    if (standing !== this.#standing) this.#parts.onStanding?.(standing)
    this.#standing = standing
    if (serves) await noteHistory(db, history, noted)
    this.#live = serves ? Math.max(1, row.live) : row.live
    if (row.schema > this.#schema) known.onNewer?.(row.schema)
    this.#schema = Math.max(this.#schema, row.schema)
  }
}

export async function forgetProcesses(db: Queries): Promise<void> {
  await db.run(`DELETE FROM process WHERE beat_ms < ${NOW} - 60000`)
}
