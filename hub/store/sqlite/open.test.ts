import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { systemTimers } from '../../../protocol/timers.ts'
import { systemRandom } from '../../core/random.ts'
import { lockDirectory } from '../../directory-lock.ts'
import { LOST_SINCE_SETTING } from '../ledger-port.ts'
import { StoreRefused } from '../port.ts'
import { clearingQueries } from './clearing-store.ts'
import { openReader, openWriter } from './database.ts'
import { raiseRestored } from './inspect.ts'
import { migrate, readMigrations, schemaNumber } from './migrate.ts'
import { openStore } from './open.ts'
import { cardQueries } from './peer-card-store.ts'
import { peerPaymentQueries } from './peer-payment-store.ts'
import { hotQueries } from './reads.ts'
import { reviewQueries } from './review-store.ts'
import { signUpQueries } from './sign-ups.ts'
import { toldQueries } from './told-reviews.ts'

const outside = { timers: systemTimers, random: systemRandom }

const folders: string[] = []
function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'svc-hub-store-'))
  folders.push(made)
  return made
}
afterEach(() => {
  for (const path of folders.splice(0)) rmSync(path, { recursive: true, force: true })
})

const open = (directory: string) =>
  openStore({ directory, release: 'test', ...outside, onBroken: () => undefined })

describe('schema', () => {
  test('carries a number from the first release on', () => {
    const database = openWriter(join(folder(), 'hub.db'))
    migrate(database, 'unused', { release: '0.3.0' })
    expect(schemaNumber(database)).toBe(readMigrations().length)
    database.close()
  })

  test('refuses a store that a newer release wrote, naming the release', () => {
    const path = join(folder(), 'hub.db')
    const database = openWriter(path)
    const newer = [
      ...readMigrations(),
      { number: readMigrations().length + 1, sql: 'CREATE TABLE later (x) ' },
    ]
    migrate(database, path, { release: '9.9.9', migrations: newer })
    expect(() => migrate(database, path, { release: '0.3.0' })).toThrow(StoreRefused)
    expect(() => migrate(database, path, { release: '0.3.0' })).toThrow(
      `${path} was written by a newer svc-hub: it has schema ${newer.length}, and svc-hub 0.3.0 knows up to ${newer.length - 1}; install svc-hub 9.9.9 or newer, or restore a backup from before the upgrade to a new folder`,
    )
    expect(() => migrate(database, path, { release: '9.9.9' })).toThrow(
      /; install svc-hub newer than this build of 9\.9\.9, or/,
    )
    database.close()
  })

  test('copies the database before it migrates, and leaves it as it was when a migration fails', () => {
    const path = join(folder(), 'hub.db')
    const database = openWriter(path)
    migrate(database, path, { release: '0.3.0' })
    const number = readMigrations().length + 1
    const broken = [...readMigrations(), { number, sql: 'CREATE TABLE later (x); SELECT nonsense' }]
    expect(() => migrate(database, path, { release: '9.9.9', migrations: broken })).toThrow()
    expect(schemaNumber(database)).toBe(number - 1)
    expect(database.one('SELECT 1 FROM sqlite_schema WHERE name = ?', 'later')).toBeUndefined()
    const copy = openReader(`${path}.before-schema-${number}`)
    expect(schemaNumber(copy)).toBe(number - 1)
    copy.close()
    database.close()
  })
})

test('an identity that was deactivated before keeps neither profile nor mail after the migration', () => {
  const path = join(folder(), 'hub.db')
  const database = openWriter(path)
  migrate(database, path, { release: '0.3.0', migrations: readMigrations().slice(0, 3) })
  for (const [number, registered] of [
    [1, 0],
    [2, 1],
  ] as const) {
    database.run(
      "INSERT INTO agent VALUES (?1, ?2, 1, ?3, ?4, ?5, ?6, ?7, ?8, x'00', x'00', NULL, 0, 0, 0, 0, ?9)",
      number,
      `agent-${number}`,
      registered,
      'name',
      '["a.b"]',
      'summary',
      'readme',
      'public',
      '{}',
    )
    database.run('INSERT INTO mailbox (number, envelopes, bytes) VALUES (?, 1, 10)', number)
    database.run(
      "INSERT INTO envelope VALUES (?1, 1, randomblob(16), x'01', 0, 9, 10, 0, NULL, x'00')",
      number,
    )
    database.run("INSERT INTO digest VALUES (?, x'01', 0, 1, 1)", number)
  }
  migrate(database, path, { release: '0.3.0' })
  const read = (sql: string) => database.all<Record<string, unknown>>(sql).map(row => Object.values(row))
  expect(read('SELECT name, caps, summary, readme, visibility, card, keys IS NULL FROM agent')).toEqual([
    ['', '[]', '', '', 'hub-local', null, 1],
    ['name', '["a.b"]', 'summary', 'readme', 'public', '{}', 0],
  ])
  expect(read('SELECT mailbox FROM envelope')).toEqual([[2]])
  expect(read('SELECT envelopes, bytes FROM mailbox')).toEqual([
    [0, 0],
    [1, 10],
  ])
  expect(read('SELECT mailbox, waiting FROM digest')).toEqual([
    [1, 0],
    [2, 1],
  ])
  database.close()
})

test('envelopes that were queued before rids said their place keep the ones they have', async () => {
  const directory = folder()
  const path = join(directory, 'hub.db')
  const database = openWriter(path)
  migrate(database, path, { release: '0.3.0', migrations: readMigrations().slice(0, 8) })
  database.run('INSERT INTO mailbox (number, next_id, envelopes, bytes) VALUES (1, 3, 2, 20)')
  const before = [7, 8].map(fill => new Uint8Array(16).fill(fill))
  const digests = [1, 2].map(fill => new Uint8Array(32).fill(fill))
  for (const at of [0, 1]) {
    const [rid, digest] = [before[at] as Uint8Array, digests[at] as Uint8Array]
    database.run("INSERT INTO envelope VALUES (1, ?, ?, ?, 0, 9, 10, 0, NULL, x'00')", at + 1, rid, digest)
    database.run('INSERT INTO digest VALUES (1, ?, 0, 1, ?)', digest, at + 1)
  }
  database.close()

  const store = open(directory)
  const states = async () => (await store.status(before)).map(({ state }) => state)
  expect(await states()).toEqual(['queued', 'queued'])
  expect(await store.findQueued(1, digests[1] as Uint8Array)).toEqual(before[1])
  const item = { id: 1, handle: new Uint8Array(16), dack: new Uint8Array(540) }
  await store.ack({ mailbox: 1, items: [item], keepUntilMs: 9 })
  expect(await states()).toEqual(['done', 'queued'])
  await store.close()
})

test('reviews from before peers were told of them are numbered in their order, where their agent is more than hub-local', async () => {
  const directory = folder()
  const path = join(directory, 'hub.db')
  const database = openWriter(path)
  migrate(database, path, { release: '0.3.0', migrations: readMigrations().slice(0, 11) })
  const agents = [
    ['here', 1, 'hub-local'],
    ['seen', 1, 'federated'],
    ['gone', 0, 'public'],
    ['shown', 1, 'public'],
  ] as const
  for (const [aid, registered, visibility] of agents)
    database.run(
      'INSERT INTO agent (version, registered, name, caps, summary, readme, visibility, kel, before_until_ms,' +
        " registered_day_ms, probation_until_ms, seen_hour_ms, aid) VALUES (1, ?, '', '[]', '', '', ?, x'00', 0, 0, 0, 0, ?)",
      registered,
      visibility,
      aid,
    )
  for (const [n, provider] of ['shown', 'here', 'seen', 'gone', 'away', 'shown'].entries()) {
    const part = Uint8Array.of(n)
    database.run(
      'INSERT INTO review (provider, interaction, reviewer, rating, receipt, review, attestation) VALUES (?, ?, ?, 5, ?, ?, ?)',
      provider,
      ...[part, part, part, part, part],
    )
  }
  database.close()

  const store = open(directory)
  const { told } = await store.toldReviews({ peer: 'hub', after: 0, limit: 10, bytesMax: 1000 })
  expect(told.map(one => [one.fedSeq, 'withdrawn' in one ? undefined : one.receipt[0]])).toEqual([
    [1, 0],
    [2, 2],
    [3, 5],
  ])
  await store.close()
})

test('a restored store gives no number twice of what its lost days told peers, also where they told the first', async () => {
  for (const before of [0, 2]) {
    const directory = folder()
    const path = join(directory, 'hub.db')
    const database = openWriter(path)
    migrate(database, path, { release: 'test' })
    const tell = (db: typeof database) =>
      db.run("INSERT INTO told_review (provider, peer, review) VALUES ('bob', '', NULL)")
    for (let n = 0; n < before; n++) tell(database)
    database.close()
    raiseRestored(path, { nowMs: 1, savedMs: 1, release: 'test', clockSetting: 'clock' })
    const restored = openWriter(path)
    tell(restored)
    const { last } = restored.one<{ last: number }>('SELECT max(fed_seq) AS last FROM told_review') ?? {}
    expect(last).toBe(2 ** 32 + before + 1)
    restored.run("INSERT INTO told_card (aid, withdrawn) VALUES ('bob', 1)")
    expect(restored.one('SELECT fed_seq FROM told_card')).toEqual({ fed_seq: 2 ** 32 + 1 })
    restored.run(
      'INSERT INTO open_review (provider, interaction, reviewer, rating, receipt, review, request, deliverable)' +
        " VALUES ('bob', x'01', 'alice', 5, x'01', x'01', x'01', x'01')",
    )
    expect(restored.one('SELECT fed_seq FROM open_review')).toEqual({ fed_seq: 2 ** 32 + 1 })
    restored.close()
  }
})

test('a store that is restored again may still lack what an earlier restore lost, for a month', () => {
  const path = join(folder(), 'hub.db')
  const restore = (nowMs: number, savedMs: number) => {
    raiseRestored(path, { nowMs, savedMs, release: 'test', clockSetting: 'clock' })
    const db = openReader(path)
    const row = db.one<{ value: string }>('SELECT value FROM setting WHERE name = ?', LOST_SINCE_SETTING)
    db.close()
    return Number(row?.value)
  }
  const dayMs = 86_400_000
  expect([restore(5 * dayMs, dayMs), restore(6 * dayMs, 5 * dayMs)]).toEqual([dayMs, dayMs])
  expect(restore(50 * dayMs, 49 * dayMs)).toBe(49 * dayMs)
})

test('the room for a full disk is made whole again where a killed start left a part of it', async () => {
  const directory = folder()
  writeFileSync(join(directory, 'reserve'), 'a part')
  await open(directory).close()
  expect(statSync(join(directory, 'reserve')).size).toBe(16 * 1024 * 1024)
})

test('no hot query scans a table', () => {
  const database = openWriter(join(folder(), 'hub.db'))
  migrate(database, 'unused', { release: 'test' })
  for (const [name, sql] of Object.entries({
    ...hotQueries,
    ...reviewQueries,
    ...signUpQueries,
    ...toldQueries,
    ...cardQueries,
    ...peerPaymentQueries,
    ...clearingQueries,
  })) {
    const parameters = (sql.match(/\?/g) ?? []).map(() => null)
    const plan = database.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, ...parameters)
    const details = plan.map(step => step.detail)
    expect(details.length, name).toBeGreaterThan(0)
    expect(
      details.filter(detail => detail.startsWith('SCAN') || detail.includes('TEMP B-TREE')),
      name,
    ).toEqual([])
  }
  database.close()
})

test('a second process is refused the directory until the first lets go', () => {
  const directory = folder()
  const lock = lockDirectory(directory)
  expect(() => lockDirectory(directory)).toThrow(/another svc-hub/)
  lock.release()
  lockDirectory(directory).release()
})
