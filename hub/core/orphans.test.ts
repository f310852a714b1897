/** Files that no row names. */
import { expect, test } from 'vitest'
import { TestTimers } from '../../protocol/testing/timers.ts'
import { HOUR_MS } from './limits.ts'
import { Orphans } from './orphans.ts'

test('a file goes once no row named it at two looks, an hour apart', async () => {
  const timers = new TestTimers(0)
  const files = new Set(['named', 'orphan', 'late'])
  const rows = new Set(['named'])
  const blobs = {
    async *names() {
      yield [...files]
    },
    remove: async (names: string[]) => {
      for (const name of names) files.delete(name)
    },
  }
  const orphans = new Orphans({ blobs, unused: async names => names.filter(name => !rows.has(name)) }, timers)
  const look = async (afterMs: number) => {
    await timers.pass(afterMs)
    await orphans.sweep()
    return [...files]
  }
  expect(await look(HOUR_MS)).toEqual(['named', 'orphan', 'late'])
  rows.add('late')
  expect(await look(HOUR_MS - 1)).toEqual(['named', 'orphan', 'late'])
  expect(await look(1)).toEqual(['named', 'late'])
  rows.delete('named')
  expect(await look(HOUR_MS)).toEqual(['named', 'late'])
  expect(await look(HOUR_MS)).toEqual(['late'])
})
