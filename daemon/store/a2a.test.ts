/** Tasks of the A2A interface as the store keeps them. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  a2aEventsAfter,
  a2aPush,
  a2aTaskAt,
  a2aTaskById,
  a2aTaskOf,
  addA2aEvent,
  addA2aTask,
  countA2aTasks,
  dueA2aPushes,
  listA2aTasks,
  notePushed,
  putA2aPush,
  putOffPush,
  removeA2aPushes,
  toldUpTo,
  unfinishedA2aTasks,
} from './a2a.ts'
import { openStoreAt, type Store } from './open.ts'

let store: Store
beforeEach(() => {
  store = openStoreAt(':memory:')
})
afterEach(() => store.close())

const task = (
  id: string,
  given: { agent?: string; context?: string; state?: string; stateAt?: number } = {},
) =>
  addA2aTask(store, {
    id,
    agent: '',
    context: 'c',
    interaction: null,
    request: null,
    ends: 0,
    state: 'SUBMITTED',
    stateAt: 1000,
    status: '{}',
    ...given,
  }).key
const all = { agent: undefined, context: undefined, state: undefined, since: 0 }
const listed = (page: Partial<Parameters<typeof listA2aTasks>[1]> = {}) =>
  listA2aTasks(store, { ...all, before: undefined, limit: 10, ...page }).map(({ id }) => id)

test('a task is found by its key and its id, and one that is not there is said', () => {
  const key = task('one')
  expect([a2aTaskAt(store, key).id, a2aTaskById(store, 'one')?.key]).toEqual(['one', key])
  expect([a2aTaskById(store, 'two'), a2aTaskOf(store, 1)]).toEqual([undefined, undefined])
  expect(() => a2aTaskAt(store, 99)).toThrow(/no A2A task with the key 99/)
})

test('a list goes from the task that changed last, a page at a time, as far as it is narrowed', () => {
  task('old', { stateAt: 1000, agent: 'A' })
  const middle = task('middle', { stateAt: 2000, state: 'WORKING' })
  task('new', { stateAt: 2000, context: 'd' })
  expect(listed()).toEqual(['new', 'middle', 'old'])
  expect(listed({ before: { stateAt: 2000, key: middle } })).toEqual(['old'])
  expect([listed({ agent: 'A' }), listed({ context: 'd' }), listed({ state: 'WORKING' })]).toEqual([
    ['old'],
    ['new'],
    ['middle'],
  ])
  expect([listed({ since: 2000 }), countA2aTasks(store, { ...all, since: 2001 })]).toEqual([
    ['new', 'middle'],
    0,
  ])
  expect(countA2aTasks(store, all)).toBe(3)
})

test('an event is told after those before it, and may change how the task stands', () => {
  const key = task('one')
  expect(toldUpTo(store, key)).toBe(0)
  addA2aEvent(store, key, { body: 'first', message: null })
  expect(a2aTaskAt(store, key)).toMatchObject({ events: 1, state: 'SUBMITTED', over: 0 })
  const working = { state: 'WORKING', at: 2000, status: '{"w":1}', isOver: false }
  addA2aEvent(store, key, { body: 'second', message: null }, working)
  expect(unfinishedA2aTasks(store).map(({ id }) => id)).toEqual(['one'])
  addA2aEvent(store, key, { body: 'third', message: null }, { ...working, state: 'COMPLETED', isOver: true })
  expect(a2aTaskAt(store, key)).toMatchObject({ events: 3, state: 'COMPLETED', stateAt: 2000, over: 1 })
  expect(unfinishedA2aTasks(store)).toEqual([])
  expect(a2aEventsAfter(store, key, 1).map(({ n, body }) => [n, body])).toEqual([
    [2, 'second'],
    [3, 'third'],
  ])
})

test('a push is due while there is something to tell, at its time', () => {
  const key = task('one')
  putA2aPush(store, { task: key, id: 'p', config: '{}', told: 0, nextAt: 1000 })
  const due = (now = 1000) => dueA2aPushes(store, now, 9)
  expect(due()).toEqual([])
  addA2aEvent(store, key, { body: 'first', message: null })
  const [push] = due()
  expect([due(999), push]).toMatchObject([[], { id: 'p', told: 0, tries: 0 }])
  if (push === undefined) throw new Error('nothing is due')
  putOffPush(store, push, 5000)
  expect([due(), due(5000)]).toMatchObject([[], [{ tries: 1 }]])
  notePushed(store, push, 1)
  expect([due(5000), a2aPush(store, key, 'p')]).toMatchObject([[], { told: 1, tries: 0 }])
  expect([removeA2aPushes(store), a2aPush(store, key, 'p')]).toEqual([1, undefined])
})
