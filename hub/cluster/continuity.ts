/**
 * Whether the database is the one to which the processes of a hub wrote before. One that a crash, a failover or a restore
 * has emptied of what they remember together takes no change until a process has noted that. One that was restored, promoted
 * or copied may have lost changes as well: its numbers are raised first, and where a loss can't be ruled out, the hub goes
 * on as one that was restored.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import * as z from 'zod'
import type { Timer, Timers } from '../../protocol/timers.ts'
import { keepTime, writeSetting } from '../store/postgres/accounts.ts'
import type { Queries } from '../store/postgres/connections.ts'
import { isConfirmed, lineOf, noteLost, settingIn, skipNumbers } from '../store/postgres/restored.ts'
import type { WatchedConnections } from '../store/postgres/watched.ts'
import { beganAtMs, beginAnew } from './began.ts'

/** Of which line the database was when a process last raised its numbers. */
export const LINE_SETTING = 'database_line'
/** The last time, by the clock of the database, at which a process wrote there. */
export const BEAT_SETTING = 'database_beat'
const BEAT_EVERY_MS = 2000
/** Whoever wrote last within so much of the end saw it come. */
const SEEN_MS = 10_000
const PRIVATE = 0o600

const LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('svc-hub memory', 0))"
const seenShape = z.object({ line: z.string(), beatMs: z.number(), confirmed: z.boolean() })
/** What a process knows to be kept: its last beat, and whether a standby had to confirm it. */
type Seen = z.infer<typeof seenShape>

/** The numbers of a database were raised; `lostSinceMs` where it may lack what came after that time. */
export type Restored = { line: string; lostSinceMs: number | undefined }

export type ContinuityParts = {
  db: WatchedConnections
  now: () => number
  timers: Timers
  /** Has over a restart of a process what it has seen. */
  file: string | undefined
  /** A process that serves keeps there what it sees; a command reads it. */
  serves: boolean
  onRestored?: ((restored: Restored) => void) | undefined
}

export class Continuity {
  readonly #parts: ContinuityParts
  #seen: Seen | undefined
  /** By when this process tells the memory that it knows from one that began later. */
  #beganMs: number | undefined
  #timer: Timer | undefined
  #beating: Promise<void> | undefined

  constructor(parts: ContinuityParts) {
    this.#parts = parts
    this.#seen = parts.file === undefined ? undefined : readSeen(parts.file)
  }

  /** From here on no change is made in a database that has forgotten what processes remember. */
  async start(): Promise<void> {
    const { db, timers, serves } = this.#parts
    await this.look()
    db.guardWith({ isWhole: async of => (await beganAtMs(of)) === this.#beganMs, mend: () => this.look() })
    if (!serves) return
    await this.#beat()
    this.#timer = timers.every(BEAT_EVERY_MS, () => void this.#beatAlone())
    this.#timer.unref()
  }

  async close(): Promise<void> {
    this.#parts.timers.clear(this.#timer)
    await this.#beating
    if (this.#timer !== undefined) await this.#beat().catch(() => undefined)
  }

  /** Begins anew where that is needed; `isToldLost`: the operator says that the database was put back. */
  async look({ isToldLost = false } = {}): Promise<Restored | undefined> {
    const { db, onRestored } = this.#parts
    const given = { isToldLost, seen: this.#seen, nowMs: this.#parts.now() }
    const { beganMs, restored } = await db.unguarded(of => begin(of, given), { patient: true })
    this.#beganMs = beganMs
    if (restored !== undefined) onRestored?.(restored)
    return restored
  }

  /** One that waits, as for a standby, is not overtaken. */
  #beatAlone(): void {
    this.#beating ??= this.#beat()
      .catch(() => undefined)
      .finally(() => {
        this.#beating = undefined
      })
  }

  async #beat(): Promise<void> {
    const { db, file } = this.#parts
    const seen = await db.transaction(async of => ({
      line: await lineOf(of),
      beatMs: await keepTime(of, BEAT_SETTING),
      confirmed: await isConfirmed(of),
    }))
    this.#seen = seen
    if (file === undefined) return
    writeFileSync(`${file}.new`, `${JSON.stringify(seen)}\n`, { mode: PRIVATE })
    renameSync(`${file}.new`, file)
  }
}

type Given = { isToldLost: boolean; seen: Seen | undefined; nowMs: number }

/** One process does it, and the others find it done. */
async function begin(
  db: Queries,
  { isToldLost, seen, nowMs }: Given,
): Promise<{ beganMs: number; restored?: Restored }> {
  await db.run(LOCK)
  const [line, held] = [await lineOf(db), await settingIn(db, LINE_SETTING)]
  const isOther = held !== undefined && held !== line
  if (held !== line) await writeSetting(db, LINE_SETTING, line)
  if (!isOther && !isToldLost) return { beganMs: (await beganAtMs(db)) ?? (await beginAnew(db)) }
  const beatMs = Number((await settingIn(db, BEAT_SETTING)) ?? 0)
  const lostSinceMs = !isToldLost && hasAll(seen, held, beatMs) ? undefined : Math.min(beatMs, nowMs)
  await skipNumbers(db)
  if (lostSinceMs !== undefined) await noteLost(db, { nowMs, savedMs: lostSinceMs })
  return { beganMs: await beginAnew(db), restored: { line, lostSinceMs } }
}

/** A standby had confirmed all that was acknowledged, and the last of it is there. */
const hasAll = (seen: Seen | undefined, held: string | undefined, beatMs: number): boolean =>
  seen?.confirmed === true && seen.line === held && beatMs >= seen.beatMs && beatMs - seen.beatMs < SEEN_MS

/** Whoever can't read what he saw has seen nothing. */
function readSeen(file: string): Seen | undefined {
  try {
    return seenShape.parse(JSON.parse(readFileSync(file, 'utf8')))
  } catch {
    return undefined
  }
}
