import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { count, counted } from './counters.ts'
import { openStore, openStoreAt, peekStore, STORE_SCHEMA, type Store, storePath } from './open.ts'

const fresh = () => mkdtempSync(join(tmpdir(), 'svc-store-'))

const homes = new URL('../../fixtures/homes/', import.meta.url)

/** Tables with their columns, indexes with theirs, triggers: whatever order they were made in. */
function shape(store: Store): string[] {
  const entries = store.all<{ type: string; name: string; sql: string | null }>(
    'SELECT type, name, sql FROM sqlite_master ORDER BY type, name',
  )
  return entries.map(({ type, name, sql }) => {
    if (type !== 'table') return `${type} ${name}: ${sql}`
    const columns = store.all(
      'SELECT name, type, "notnull", dflt_value, pk FROM pragma_table_xinfo(?) ORDER BY name',
      name,
    )
    const checks = [
      ...(sql ?? '').matchAll(/CHECK \([^)]*\)\)|UNIQUE[^,\n]*|REFERENCES[^,\n]*|STRICT|WITHOUT ROWID/g),
    ]
    return `${type} ${name}: ${JSON.stringify(columns)} ${checks.map(String).sort().join()}`
  })
}

/** A store of many pages that nobody has open. */
function filled(): { dir: string; path: string } {
  const dir = fresh()
  const store = openStore(dir)
  store.transaction(() => {
    for (let i = 0; i < 2000; i++) count(store, `a name that fills a page ${i}`)
  })
  store.close()
  return { dir, path: storePath(dir) }
}

describe('the store', () => {
  test.each(readdirSync(homes))('of %s is brought to the very tables that a new home gets', home => {
    const path = join(fresh(), 'store.db')
    copyFileSync(new URL(`${home}/node/interactions/store.db`, homes), path)
    const [upgraded, made] = [openStoreAt(path), openStoreAt(':memory:')]
    expect(shape(upgraded)).toEqual(shape(made))
    upgraded.close()
    made.close()
  })

  test('is private to its owner and carries a schema number from the first commit', () => {
    const dir = fresh()
    const store = openStore(dir)
    expect(statSync(join(dir, 'interactions')).mode & 0o777).toBe(0o700)
    expect(statSync(join(dir, 'interactions', 'store.db')).mode & 0o777).toBe(0o600)
    expect(store.get('PRAGMA user_version')).toEqual({ user_version: STORE_SCHEMA })
    store.close()
  })

  test('a newer schema is refused, naming the remedy, and left as it is', () => {
    const dir = fresh()
    const store = openStore(dir)
    store.database.exec('PRAGMA user_version = 999')
    store.close()
    expect(() => openStore(dir)).toThrow(/schema 999.*newer release/)
  })

  test('of an older schema is copied before it is changed; a new one leaves no copy', () => {
    const home = readdirSync(homes).sort()[0] as string
    const path = join(fresh(), "it's.db")
    copyFileSync(new URL(`${home}/node/interactions/store.db`, homes), path)
    const before = openStoreAt(path)
    before.close()
    const copies = readdirSync(join(path, '..')).filter(name => name.includes('.schema-'))
    expect(copies).toEqual([expect.stringMatching(/^it's\.db\.schema-[1-9]\d*$/)])
    expect(statSync(join(path, '..', copies[0] as string)).mode & 0o777).toBe(0o600)
    const dir = fresh()
    openStore(dir).close()
    openStore(dir).close()
    expect(readdirSync(join(dir, 'interactions')).filter(name => name.includes('.schema-'))).toEqual([])
  })

  test.each([
    ['trigger "eager"', 'CREATE TRIGGER eager AFTER INSERT ON counters BEGIN DELETE FROM counters; END'],
    ['view "other"', 'CREATE VIEW other AS SELECT * FROM counters'],
    ['computed column "more.b"', 'CREATE TABLE more (a, b AS (a || a))'],
    ['computed column "more.b"', 'CREATE TABLE more (a, b AS (a || a) STORED)'],
    ['computed column "more.b"', 'CREATE TABLE more (a, "b"as/**/(a || a))'],
    ['computed column "more.b"', 'CREATE TABLE more (a, b AS -- of (\n /* a\n*/ (a || a))'],
    ['computed column "as.b"', 'CREATE TABLE "as" (a, b TEXT GENERATED ALWAYS\nas\n(a || a))'],
  ])('that holds a %s is opened by nobody', (what, sql) => {
    const { dir, path } = filled()
    const store = openStore(dir)
    store.database.exec(sql)
    store.close()
    for (const open of [() => openStore(dir), () => openStoreAt(path), () => peekStore(dir)])
      expect(open).toThrow(`holds the ${what}, which no release of svc writes`)
  })

  test('of our own is known to hold no computed column by a word that no table has', () => {
    const { sql } = openStoreAt(':memory:').get<{ sql: string }>(
      "SELECT group_concat(sql) AS sql FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'",
    ) as { sql: string }
    expect(sql).not.toMatch(/\bas\b/i)
  })

  test('that is damaged is named with what helps, whoever opens it', () => {
    const { dir, path } = filled()
    truncateSync(path, statSync(path).size - 8192)
    expect(() => peekStore(dir)).toThrow(/store\.db is damaged \(.+\); restore .* svc evidence import/)
    writeFileSync(path, 'this is no database, and long enough to be read as the head of one'.repeat(20))
    expect(() => openStore(dir)).toThrow(/store\.db is damaged \(.+\); restore/)
  })

  test('with a page of nothing is damaged, although its head can be read', () => {
    const { dir, path } = filled()
    const file = openSync(path, 'r+')
    writeSync(file, new Uint8Array(4096), 0, 4096, statSync(path).size - 4096)
    closeSync(file)
    expect(() => peekStore(dir)).toThrow(/store\.db is damaged \(Tree \d+ page \d+: .+\); restore/)
  })

  test('of a stopped node is looked at, and nothing of it changed', () => {
    const dir = fresh()
    const none = peekStore(dir)
    expect([none?.all('SELECT * FROM counters'), existsSync(join(dir, 'interactions'))]).toEqual([[], false])
    none?.close()
    const store = openStore(dir)
    count(store, 'x')
    store.close()
    const seen = peekStore(dir) as Store
    expect(counted(seen, 'x')).toBe(1)
    expect(() => count(seen, 'x')).toThrow(/readonly/)
    seen.close()
    const older = fresh()
    mkdirSync(join(older, 'interactions'))
    const home = readdirSync(homes).sort()[0] as string
    copyFileSync(
      new URL(`${home}/node/interactions/store.db`, homes),
      join(older, 'interactions', 'store.db'),
    )
    expect(peekStore(older)).toBeUndefined()
  })

  test('a file that cannot be opened is no damage', () => {
    expect(() => openStoreAt(join(fresh(), 'missing', 'store.db'))).toThrow(/unable to open/)
  })

  test('a failed transaction leaves nothing and its after-commit work does not run', () => {
    const store = openStore(fresh())
    let ran = false
    expect(() =>
      store.transaction(() => {
        count(store, 'x')
        store.afterCommit(() => {
          ran = true
        })
        throw new Error('stop')
      }),
    ).toThrow('stop')
    expect([counted(store, 'x'), ran]).toEqual([0, false])
    store.transaction(() => count(store, 'x', 2))
    expect(counted(store, 'x')).toBe(2)
    store.close()
  })

  test('after-commit work that fails takes neither the commit nor the other work with it', () => {
    const store = openStore(fresh())
    const ran: unknown[] = []
    store.onTaskFailed = error => ran.push((error as Error).message)
    const result = store.transaction(() => {
      count(store, 'x')
      store.afterCommit(() => {
        throw new Error('disk full')
      })
      store.afterCommit(() => ran.push('second'))
      return 'committed'
    })
    expect([result, counted(store, 'x'), ran]).toEqual(['committed', 1, ['disk full', 'second']])
    store.close()
  })

  test('a transaction within another one is a part of it', () => {
    const store = openStore(fresh())
    const ran: number[] = []
    expect(() =>
      store.transaction(() => {
        store.transaction(() => count(store, 'x'))
        store.afterCommit(() => ran.push(1))
        throw new Error('stop')
      }),
    ).toThrow('stop')
    expect([counted(store, 'x'), ran]).toEqual([0, []])
    store.afterCommit(() => ran.push(2))
    expect(ran).toEqual([2])
    store.close()
  })

  test('a rehearsal says what would be, and leaves nothing', () => {
    const store = openStore(fresh())
    const ran: number[] = []
    const seen = store.rehearse(() => {
      count(store, 'x')
      store.afterCommit(() => ran.push(1))
      return counted(store, 'x')
    })
    store.transaction(() => {})
    expect([seen, counted(store, 'x'), ran]).toEqual([1, 0, []])
    store.close()
  })

  test('what may be undone by a power cut waits for no disk, everything else does', () => {
    const store = openStore(fresh())
    const flushes = () => store.get('PRAGMA synchronous')?.['synchronous'] === 2
    const seen: boolean[] = [flushes()]
    const look = () => void seen.push(flushes())
    store.unflushed(look, 'x')
    store.transaction(look)
    store.transaction(() => store.unflushed(look, 'x'))
    expect(() =>
      store.unflushed(() => {
        throw new Error('refused')
      }, 'x'),
    ).toThrow('refused')
    look()
    expect(seen).toEqual([true, false, true, true, true])
    store.close()
  })
})
