/** Long readings: one page at once, in order, with a rest behind each. */
import { expect, test } from 'vitest'
import { TestTimers } from '../../protocol/testing/timers.ts'
import { sleep } from '../../protocol/timers.ts'
import { Turns } from './turns.ts'

const PAGE_MS = 10

async function all<T>(rows: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const row of rows) found.push(row)
  return found
}

function world() {
  const timers = new TestTimers()
  const turns = new Turns(timers)
  const read: string[] = []
  let under = 0
  async function* pages(name: string, count: number) {
    for (let n = 0; n < count; n++) {
      under += 1
      expect(under).toBe(1)
      await sleep(timers, PAGE_MS)
      under -= 1
      read.push(`${name}${n} at ${timers.monotonic()}`)
      yield [`${name}${n}`, 'more']
    }
  }
  return { timers, turns, read, pages }
}

test('pages of several readings are read one after the other, each reading in its turn', async () => {
  const { timers, turns, read, pages } = world()
  const both = ['a', 'b'].map(name => all(turns.rows(pages(name, 2))))
  await timers.pass(10 * PAGE_MS)
  expect(read).toEqual(['a0 at 10', 'b0 at 30', 'a1 at 50', 'b1 at 70'])
  expect((await Promise.all(both))[0]).toEqual(['a0', 'more', 'a1', 'more'])
})

test('a reading that fails, or that nobody goes on with, holds up no other', async () => {
  const { timers, turns, read, pages } = world()
  async function* broken() {
    yield ['one']
    throw new Error('no store')
  }
  const failed = all(turns.rows(broken())).catch(String)
  const left = turns.rows(pages('left', 3))
  void left.next()
  const other = all(turns.rows(pages('b', 1)))
  await timers.pass(10 * PAGE_MS)
  expect([await failed, await other]).toEqual(['Error: no store', ['b0', 'more']])
  expect(read.map(one => one.split(' ')[0])).toEqual(['left0', 'b0'])
})

test('readings that find nothing let everything else have its turn', async () => {
  const { timers, turns } = world()
  let isOver = false
  async function* empty() {
    for (let n = 0; n < 100; n++) yield []
  }
  const reading = all(turns.rows(empty())).then(() => {
    isOver = true
  })
  for (let n = 0; n < 1000; n++) await undefined
  expect(isOver).toBe(false)
  for (let n = 0; n < 100; n++) await timers.pass(0)
  await timers.pass(1)
  await reading
})
