/** What the operator and the hub itself keep in PostgreSQL: accounts, refused ranges, settings. */
import type { Overview, Quota, Store } from '../port.ts'
import { accountOf, type StoredAccount } from '../rows.ts'
import type { Queries } from './connections.ts'
import type { Write } from './groups.ts'
import { NOW } from './state.ts'
import { Together } from './together.ts'
import type { Writer } from './writes.ts'

export const raiseFloor: Write<{ aid: string; floorMs: number }, void> = {
  locks: () => ({}),
  makesRoom: true,
  async make(db, { aid, floorMs }) {
    await db.run(
      'INSERT INTO account (aid, floor_ms) VALUES ($1, $2)' +
        ' ON CONFLICT (aid) DO UPDATE SET floor_ms = greatest(account.floor_ms, $2)',
      aid,
      floorMs,
    )
  },
}

export const admit: Write<{ aid: string; admitted: boolean }, void> = {
  locks: () => ({}),
  async make(db, { aid, admitted }) {
    await db.run(
      'INSERT INTO account (aid, admitted) VALUES ($1, $2) ON CONFLICT (aid) DO UPDATE SET admitted = $2',
      aid,
      admitted,
    )
  },
}

export const block: Write<{ aid: string; blocked: boolean }, void> = {
  locks: () => ({}),
  makesRoom: true,
  async make(db, { aid, blocked }) {
    await db.run(
      'INSERT INTO account (aid, blocked) VALUES ($1, $2) ON CONFLICT (aid) DO UPDATE SET blocked = $2',
      aid,
      blocked,
    )
  },
}

export const refuseRange: Write<{ range: string; refused: boolean }, void> = {
  locks: () => ({}),
  async make(db, { range, refused }) {
    if (refused) await db.run('INSERT INTO refused_range (range) VALUES ($1) ON CONFLICT DO NOTHING', range)
    else await db.run('DELETE FROM refused_range WHERE range = $1', range)
  },
}

export const setQuota: Write<{ aid: string; quota: Quota }, void> = {
  locks: () => ({}),
  async make(db, { aid, quota }) {
    await db.run(
      'INSERT INTO account' +
        ' (aid, envelopes_max, bytes_max, stranger_envelopes_max, stranger_bytes_max, stranger_per_minute)' +
        ' VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (aid) DO UPDATE SET envelopes_max = $2, bytes_max = $3,' +
        ' stranger_envelopes_max = $4, stranger_bytes_max = $5, stranger_per_minute = $6',
      aid,
      quota.envelopesMax ?? null,
      quota.bytesMax ?? null,
      quota.strangerEnvelopesMax ?? null,
      quota.strangerBytesMax ?? null,
      quota.strangerPerMinute ?? null,
    )
  },
}

export const putSetting: Write<{ name: string; value: string }, void> = {
  locks: () => ({}),
  make: (db, { name, value }) => writeSetting(db, name, value),
}

export async function writeSetting(db: Queries, name: string, value: string): Promise<void> {
  await db.run(
    'INSERT INTO setting (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = $2',
    name,
    value,
  )
}

/** Writes a value where none stands, or still the one that was read. */
export async function replaceSetting(
  db: Queries,
  name: string,
  { value, read }: { value: string; read: string | undefined },
): Promise<void> {
  await db.run(
    'INSERT INTO setting (name, value) VALUES ($1, $2)' +
      ' ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE setting.value = $3',
    ...[name, value, read ?? ''],
  )
}

/** Keeps the time of the server under a name, and gives the newest that stands there. */
export async function keepTime(db: Queries, name: string): Promise<number> {
  const row = await db.one<{ value: string }>(
    `INSERT INTO setting (name, value) VALUES ($1, (${NOW})::text) ON CONFLICT (name)` +
      ' DO UPDATE SET value = greatest(setting.value::bigint, excluded.value::bigint)::text RETURNING value',
    name,
  )
  return Number(row?.value)
}

/** Rows that hold nothing but a floor or the key history of one that left say nothing to the operator. */
const overviewOf = (comparison: '>' | '='): string => `
SELECT known.aid AS aid, coalesce(registered OR (blocked AND keys IS NOT NULL), false) AS registered,
  coalesce(admitted, false) AS admitted, coalesce(blocked, false) AS blocked, coalesce(name, '') AS name,
  coalesce(registered_day_ms, 0) AS "registeredDayMs", coalesce(seen_hour_ms, 0) AS "seenHourMs",
  coalesce(envelopes, 0) AS envelopes, coalesce(bytes, 0) AS bytes
FROM (
  SELECT aid FROM agent WHERE aid ${comparison} $1 AND registered
  UNION SELECT aid FROM account WHERE aid ${comparison} $1 AND (admitted OR blocked)
  ORDER BY aid LIMIT $2
) AS known
LEFT JOIN agent ON agent.aid = known.aid
LEFT JOIN account ON account.aid = known.aid
LEFT JOIN mailbox ON mailbox.number = agent.number
ORDER BY known.aid`

export const accountQueries = {
  accounts: 'SELECT * FROM account WHERE aid = ANY($1::text[])',
  setting: 'SELECT value FROM setting WHERE name = $1',
  ranges: 'SELECT range FROM refused_range ORDER BY range',
  overview: overviewOf('>'),
  overviewOf: overviewOf('='),
} as const

function readAccounts(reader: Queries): Store['account'] {
  const together = new Together<StoredAccount & { aid: string }>(async aids => {
    const rows = await reader.all<StoredAccount & { aid: string }>(accountQueries.accounts, aids)
    return new Map(rows.map(row => [row.aid, row]))
  })
  return async aid => accountOf(await together.find(aid))
}

type Accounts = Pick<
  Store,
  | 'account'
  | 'raiseFloor'
  | 'admit'
  | 'block'
  | 'overview'
  | 'overviewOf'
  | 'refuseRange'
  | 'refusedRanges'
  | 'setQuota'
  | 'setting'
  | 'putSetting'
>

export const accountsOver = (reader: Queries, writer: Writer): Accounts => ({
  account: readAccounts(reader),
  raiseFloor: (aid, floorMs) => writer.write('raiseFloor', { aid, floorMs }),
  admit: (aid, admitted) => writer.write('admit', { aid, admitted }),
  block: (aid, blocked) => writer.write('block', { aid, blocked }),
  overview: ({ afterAid, limit }) => reader.all<Overview>(accountQueries.overview, afterAid, limit),
  overviewOf: aid => reader.one<Overview>(accountQueries.overviewOf, aid, 1),
  refuseRange: (range, refused) => writer.write('refuseRange', { range, refused }),
  async refusedRanges() {
    return (await reader.all<{ range: string }>(accountQueries.ranges)).map(({ range }) => range)
  },
  setQuota: (aid, quota) => writer.write('setQuota', { aid, quota }),
  setting: async name => (await reader.one<{ value: string }>(accountQueries.setting, name))?.value,
  putSetting: (name, value) => writer.write('putSetting', { name, value }),
})

/** The value of a setting, which the first process that asks for it makes for all of them. */
export async function madeOnce(db: Queries, name: string, value: string): Promise<string> {
  await db.run('INSERT INTO setting (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING', name, value)
  return (await db.one<{ value: string }>(accountQueries.setting, name))?.value ?? value
}
