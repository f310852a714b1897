import { copyFileSync, mkdtempSync, readdirSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { count, counted } from './counters.ts'
import { openStore, openStoreAt, STORE_SCHEMA, type Store } from './open.ts'

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
