/** The store that measurements are made on is one that a node opens and lists. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openStore } from '../../daemon/store/open.ts'
import { fillStore } from './stored-tasks.ts'

test('a filled store holds each task with its message', () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-bench-'))
  try {
    openStore(folder).close()
    fillStore(folder, `A${'x'.repeat(43)}`, 8)
    const store = openStore(folder)
    const count = (table: string) =>
      store.get<{ count: number }>(`SELECT count(*) AS count FROM ${table}`)?.count
    expect([count('interactions'), count('messages')]).toEqual([8, 8])
    store.close()
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
