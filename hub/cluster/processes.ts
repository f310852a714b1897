/** Which processes of a hub live: each beats every two seconds, by the clock of the database. */
import type { Timer, Timers } from '../../protocol/timers.ts'
import type { Queries } from '../store/postgres/connections.ts'

const BEAT_EVERY_MS = 2000
/** Who was silent for so long is taken for dead. */
const SILENT_MS = 10_000

const NOW = 'floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint'
const BEAT = `
INSERT INTO process (id, release, beat_ms) VALUES ($1, $2, ${NOW})
ON CONFLICT (id) DO UPDATE SET beat_ms = excluded.beat_ms`
const LIVE = `SELECT count(*) AS live, ${NOW} AS now_ms FROM process WHERE beat_ms > ${NOW} - ${SILENT_MS}`

type Parts = { db: Queries; timers: Timers; now: () => number; id: string; release: string }

export class Processes {
  readonly #parts: Parts
  #timer: Timer | undefined
  #live = 1
  #aheadMs = 0

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** How many live, this one among them. */
  get live(): number {
    return this.#live
  }

  /** How far this machine's clock is ahead of the database's; negative where it is behind. */
  get aheadMs(): number {
    return this.#aheadMs
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
    const { db, now, id, release } = this.#parts
    await db.run(BEAT, id, release)
    const askedMs = now()
    const row = await db.one<{ live: number; now_ms: number }>(LIVE)
    if (row === undefined) return
    this.#aheadMs = Math.round((askedMs + now()) / 2) - row.now_ms
    this.#live = Math.max(1, row.live)
  }
}

export async function forgetProcesses(db: Queries): Promise<void> {
  await db.run(`DELETE FROM process WHERE beat_ms < ${NOW} - 60000`)
}
