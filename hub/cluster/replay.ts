/** Times of signers that all processes of a hub remember together. */
import { toBase64url } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import { AHEAD_UNSTORED_MS } from '../core/clocks.ts'
import type { Replay, SignedTime, TimeTaken } from '../core/ports/replay.ts'
import type { Queries } from '../store/postgres/connections.ts'
import type { Write } from '../store/postgres/groups.ts'
import { beganMs } from './began.ts'
import { sharedLock } from './locks.ts'
import type { ClusterWriter } from './writes.ts'

/** So many of a signer's latest requests are told from others. */
const MARKS_MAX = 16
/** So many requests of a signer may be taken while a body of it comes. */
const OVERTAKEN_MAX = 64

/** `times` are those of requests that came with a floor; one at `forgottenMs` or before is not new. */
type Latest = { marks: string[]; times: number[]; forgottenMs: number }
type Times = { lastMs: number; latest: Latest; version: number | undefined }

const none = (): Latest => ({ marks: [], times: [], forgottenMs: 0 })

const READ = `
SELECT asked.aid AS aid, signed_time.last_ms AS last_ms, signed_time.latest AS latest, account.floor_ms AS floor_ms,
  agent.version AS version
FROM unnest($1::text[]) AS asked(aid)
LEFT JOIN signed_time ON signed_time.aid = asked.aid
LEFT JOIN account ON account.aid = asked.aid
LEFT JOIN agent ON agent.aid = asked.aid`
const KEEP = `
INSERT INTO signed_time (aid, last_ms, latest) SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[])
ON CONFLICT (aid) DO UPDATE SET last_ms = excluded.last_ms, latest = excluded.latest`

type Row = {
  aid: string
  last_ms: number | null
  latest: string | null
  floor_ms: number | null
  version: number | null
}

/** What is known of each; where nothing was remembered, what the account and the beginning of memory leave possible. */
async function timesOf(db: Queries, aids: readonly string[]): Promise<Map<string, Times>> {
  const startMs = startFloorOf(await beganMs(db))
  const rows = await db.all<Row>(READ, aids)
  return new Map(
    rows.map(({ aid, last_ms, latest, floor_ms, version }) => [
      aid,
      {
        lastMs: last_ms ?? Math.max(startMs, floor_ms ?? 0),
        latest: latest === null ? none() : (JSON.parse(latest) as Latest),
        version: version ?? undefined,
      },
    ]),
  )
}

/** Above all that may have been taken, and not stored, before memory began. */
const startFloorOf = (began: number): number => (began === 0 ? 0 : began + AHEAD_UNSTORED_MS)

export const takeTimes: Write<SignedTime, TimeTaken> = {
  locks: ({ aid }) => ({ subjects: [sharedLock('times', aid)] }),
  makesRoom: true,
  async makeAll(db, asked) {
    const known = await timesOf(db, [...new Set(asked.map(({ aid }) => aid))])
    const taken = asked.map(one => judge(one, known))
    const changed = [...new Set(asked.filter((_, n) => taken[n]?.outcome === 'taken').map(({ aid }) => aid))]
    const kept = changed.map(aid => known.get(aid) as Times)
    if (changed.length > 0)
      await db.run(
        KEEP,
        changed,
        kept.map(({ lastMs }) => lastMs),
        kept.map(({ latest }) => JSON.stringify(latest)),
      )
    return taken
  },
}

/** What is taken is noted at once, so that the next of its group meets it. */
function judge(
  { aid, tsMs, mark, nowMs, windowMs, floorMs }: SignedTime,
  known: Map<string, Times>,
): TimeTaken {
  const { lastMs, latest, version } = known.get(aid) as Times
  const seen = toBase64url(mark)
  if (latest.marks.includes(seen)) return { outcome: 'repeated' }
  const isOld = tsMs < nowMs - windowMs
  const isNew = tsMs > latest.forgottenMs && !latest.times.includes(tsMs)
  const isLate = floorMs !== undefined && isNew && tsMs > floorMs
  if ((tsMs <= lastMs && !isLate) || isOld)
    return { outcome: 'stale', floorMs: isOld ? Math.max(lastMs, nowMs) : lastMs }
  if (tsMs > nowMs + windowMs) return { outcome: 'ahead' }
  known.set(aid, { lastMs: Math.max(lastMs, tsMs), latest: noted(latest, seen, floorMs && tsMs), version })
  return { outcome: 'taken', ...present({ version }) }
}

function noted({ marks, times, forgottenMs }: Latest, mark: string, tsMs: number | undefined): Latest {
  const all = tsMs === undefined ? times : [...times, tsMs]
  const gone = all.slice(0, Math.max(0, all.length - OVERTAKEN_MAX))
  return {
    marks: [...marks, mark].slice(-MARKS_MAX),
    times: all.slice(gone.length),
    forgottenMs: Math.max(forgottenMs, ...gone),
  }
}

export function replayOver(db: Queries, writer: ClusterWriter): Replay {
  return {
    floor: async aid => (await timesOf(db, [aid])).get(aid)?.lastMs ?? 0,
    take: request => writer.write('takeTimes', request),
  }
}

/** The clock alone refuses what is older, once it is past the beginning of memory as well. */
export async function forgetTimes(db: Queries, beforeMs: number): Promise<void> {
  if (startFloorOf(await beganMs(db)) < beforeMs)
    await db.run('DELETE FROM signed_time WHERE last_ms < $1', beforeMs)
}
