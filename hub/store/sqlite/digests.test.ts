/** Digests of queued envelopes, wherever they stand: found, counted and forgotten alike. */
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { systemRandom } from '../../core/random.ts'
import type { Enqueue } from '../port.ts'
import type { Seen } from '../queueing.ts'
import { type Database, openWriter } from './database.ts'
import { type DigestOf, Digests, digestsOf, undoDigests } from './digests.ts'
import { migrate } from './migrate.ts'
import { ensureRidKey } from './rids.ts'
import { type Job, runGroup } from './writes.ts'

const SORT_AT = 4
const seen: Seen = { since_ms: 5, times: 1, waiting: 7 }
let directory: string
let db: Database

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'svc-digests-'))
  const path = join(directory, 'hub.db')
  db = openWriter(path)
  migrate(db, path, { release: 'test' })
})
afterEach(() => {
  db.close()
  rmSync(directory, { recursive: true })
})

const of = (n: number, mailbox = 1): DigestOf => ({
  mailbox,
  digest: new Uint8Array(createHash('sha256').update(String(n)).digest()),
})
const rows = (table: string) => db.one<{ count: number }>(`SELECT count(*) AS count FROM ${table}`)?.count

test('new ones wait in order of arrival, and all go where they are sorted once there are enough', () => {
  const digests = new Digests(db, SORT_AT)
  for (let n = 1; n < SORT_AT; n += 1) digests.add(of(n), seen, false)
  expect([rows('digest_new'), rows('digest')]).toEqual([SORT_AT - 1, 0])
  digests.add(of(SORT_AT), seen, false)
  expect([rows('digest_new'), rows('digest')]).toEqual([0, SORT_AT])
  expect(digests.find(of(1))).toEqual(seen)
})

test('one that the connection that reads has to find stands where it looks', () => {
  new Digests(db, SORT_AT).add(of(1), seen, true)
  expect([rows('digest_new'), rows('digest')]).toEqual([0, 1])
})

test('the same digest in another mailbox is another one', () => {
  const digests = new Digests(db, SORT_AT)
  digests.add(of(1, 1), seen, false)
  expect(digests.find(of(1, 11))).toBeUndefined()
  digests.add(of(1, 11), { ...seen, waiting: 8 }, false)
  expect([digests.find(of(1, 1))?.waiting, digests.find(of(1, 11))?.waiting]).toEqual([7, 8])
})

test('a store that is opened again goes on where it was, and no number is given twice', () => {
  const before = new Digests(db, SORT_AT)
  before.add(of(1), seen, false)
  before.add(of(2), seen, false)
  const after = new Digests(db, SORT_AT)
  expect(after.find(of(2))).toEqual(seen)
  after.add(of(3), { ...seen, waiting: 9 }, false)
  expect(after.find(of(3))?.waiting).toBe(9)
})

test('what a transaction that was rolled back added is forgotten, and nothing else', () => {
  const digests = new Digests(db, SORT_AT)
  digests.add(of(1), seen, false)
  db.exec('BEGIN')
  digests.begin()
  digests.add(of(2), seen, false)
  db.exec('ROLLBACK')
  expect(digests.undo()).toBe(true)
  expect([digests.find(of(1)), digests.find(of(2))]).toEqual([seen, undefined])
  digests.add(of(2), seen, false)
  expect(digests.find(of(2))).toEqual(seen)
})

test('one that sorted and was rolled back can be taken back by reading anew alone', () => {
  const digests = new Digests(db, 2)
  digests.add(of(1), seen, false)
  db.exec('BEGIN')
  digests.begin()
  digests.add(of(2), seen, false)
  db.exec('ROLLBACK')
  expect(digests.undo()).toBe(false)
  const again = new Digests(db, 2)
  expect([again.find(of(1)), again.find(of(2))]).toEqual([seen, undefined])
  digests.begin()
  expect(digests.undo()).toBe(true)
})

test('a store whose transaction sorted and was rolled back finds all that it had', () => {
  digestsOf(db).add(of(1), seen, false)
  db.exec('BEGIN')
  digestsOf(db).begin()
  digestsOf(db).sortIn()
  db.exec('ROLLBACK')
  undoDigests(db)
  expect([digestsOf(db).find(of(1)), rows('digest_new')]).toEqual([seen, 1])
})

test('a group that another program kept from beginning takes nothing back of the one before', () => {
  const limits = {
    envelopesMax: 9,
    bytesMax: 999,
    strangerEnvelopesMax: 9,
    strangerBytesMax: 999,
    timesPerDayMax: 9,
  }
  const content = new Uint8Array(10)
  const item = { ...of(1), nowMs: 5, deleteAtMs: 9, size: 10, stranger: false, content, file: undefined }
  const job: Job = { name: 'enqueue', argument: { ...item, use: undefined, limits } satisfies Enqueue }
  db.run('INSERT INTO mailbox (number) VALUES (1)')
  ensureRidKey(db, systemRandom)
  expect(runGroup(db, [job])).toEqual([{ value: { outcome: 'queued', id: 1 } }])
  const other = openWriter(join(directory, 'hub.db'))
  other.exec('BEGIN IMMEDIATE')
  db.exec('PRAGMA busy_timeout = 1')
  expect(runGroup(db, [job])).toMatchObject([{ fault: 'busy' }])
  other.exec('ROLLBACK')
  other.close()
  expect(runGroup(db, [job])).toMatchObject([{ value: { outcome: 'duplicate' } }])
})

test('a digest that something else wrote twice does not keep the others from being sorted', () => {
  for (const [n, waiting] of [3, 4].entries())
    db.run('INSERT INTO digest_new VALUES (?, 1, ?, 5, 1, ?)', n + 1, of(1).digest, waiting)
  db.run('INSERT INTO digest VALUES (1, ?, 5, 1, 7)', of(2).digest)
  db.run('INSERT INTO digest_new VALUES (3, 1, ?, 5, 1, 8)', of(2).digest)
  const digests = new Digests(db)
  digests.add(of(3), seen, false)
  digests.sortIn()
  expect(rows('digest_new')).toBe(0)
  expect([1, 2, 3].map(n => digests.find(of(n))?.waiting)).toEqual([4, 7, 7])
})

test('those that wait no more are forgotten after their time, also those that were not sorted yet', () => {
  const digests = new Digests(db, 100)
  for (const n of [1, 2, 3]) digests.add(of(n), { ...seen, since_ms: n }, false)
  for (const n of [1, 3]) digests.waitsNoMore(of(n))
  expect(digests.sweep(2, 10)).toBe(1)
  expect([1, 2, 3].map(n => digests.find(of(n))?.waiting)).toEqual([undefined, 7, 0])
})

test('a sweep takes no more than it was told to', () => {
  const digests = new Digests(db, 100)
  for (const n of [1, 2, 3]) digests.add(of(n), { ...seen, waiting: 0 }, false)
  expect([digests.sweep(9, 2), digests.sweep(9, 2)]).toEqual([2, 1])
})

type Step = { what: keyof typeof does; n: number; early: boolean; at: number }
/** What is tried, beside a plain list that knows the same. */
type Tried = { digests: Digests; list: Map<number, Seen>; sortAt: number }

const does = {
  queue({ digests, list }: Tried, { n, early, at }: Step): void {
    const known = digests.find(of(n))
    const now = { since_ms: known?.since_ms ?? at, times: (known?.times ?? 0) + 1, waiting: at + 1 }
    if (known === undefined) digests.add(of(n), now, early)
    else digests.change(of(n), now)
    list.set(n, now)
  },
  take({ digests, list }: Tried, { n }: Step): void {
    digests.waitsNoMore(of(n))
    const known = list.get(n)
    if (known !== undefined) list.set(n, { ...known, waiting: 0 })
  },
  sweep({ digests, list }: Tried, { at }: Step): void {
    digests.sweep(at - 10, 100)
    const over = [...list].filter(([, { since_ms, waiting }]) => waiting === 0 && since_ms <= at - 10)
    for (const [n] of over) list.delete(n)
  },
  reopen(tried: Tried): void {
    tried.digests = new Digests(db, tried.sortAt)
  },
}

const queueing = fc.constant<keyof typeof does>('queue')
const taking = fc.constant<keyof typeof does>('take')
const steps = fc.array(
  fc.record({
    what: fc.oneof(
      queueing,
      queueing,
      taking,
      fc.constantFrom(...(Object.keys(does) as (keyof typeof does)[])),
    ),
    n: fc.integer({ min: 1, max: 12 }),
    early: fc.boolean(),
    kept: fc.constantFrom(true, true, true, false),
  }),
  { maxLength: 60 },
)

/** One transaction, kept or rolled back. */
function run(tried: Tried, step: Step, kept: boolean): void {
  const before = new Map(tried.list)
  db.exec('BEGIN')
  tried.digests.begin()
  does[step.what](tried, step)
  db.exec(kept ? 'COMMIT' : 'ROLLBACK')
  if (kept) return
  tried.list = before
  if (!tried.digests.undo()) does.reopen(tried)
}

test('whatever happens in which order, they are known as one list would know them', () => {
  fc.assert(
    fc.property(steps, fc.integer({ min: 1, max: 5 }), (list, sortAt) => {
      db.exec('DELETE FROM digest; DELETE FROM digest_new')
      const tried: Tried = { digests: new Digests(db, sortAt), list: new Map(), sortAt }
      for (const [at, { kept, ...step }] of list.entries()) {
        run(tried, { ...step, at }, kept)
        for (let n = 1; n <= 12; n += 1) expect(tried.digests.find(of(n))).toEqual(tried.list.get(n))
      }
    }),
    { numRuns: 150 },
  )
})
