/** The contract of visitors' sessions. */
import { expect } from 'vitest'
import type { GuestSession, GuestSessions } from '../../core/ports/guests.ts'
import { NOW_MS, type Rule } from './contract.ts'

const BYTES_MAX = 100
const ROOM = { max: 3, ownerMax: 2 }

const session = (id: string, more: Partial<GuestSession> = {}): GuestSession => ({
  ...{ id, handler: 'A-one', task: `task of ${id}`, owner: undefined, version: 0 },
  ...{ remaining: 5, sent: 0, lastName: undefined, sendingSinceMs: undefined, heardUpTo: 0, heardBeyond: [] },
  ...{ waiting: [], waitingBytes: 0, fetched: 0, endNumber: undefined, state: 'open', seenMs: NOW_MS },
  ...more,
})

const word = (body: string) => ({ body, system: false, end: '' as const })

async function added(sessions: GuestSessions, id: string, more: Partial<GuestSession> = {}) {
  const one = session(id, more)
  expect(await sessions.add(one, ROOM)).toBe(true)
  return one
}

export const guestsRules: readonly Rule<GuestSessions>[] = [
  [
    'finds a session wherever it was opened, by its secret and by its task, as it was given',
    async pair => {
      const one = await added(pair.one, 'one')
      for (const sessions of [pair.one, pair.other]) {
        expect(await sessions.find('one')).toEqual(one)
        expect(await sessions.findTask('task of one')).toEqual(one)
        expect(await sessions.find('task of one')).toBeUndefined()
        expect(await sessions.findTask('one')).toBeUndefined()
      }
    },
  ],
  [
    'opens so many at once and no more, from one place and in all, and ends none for another',
    async pair => {
      await added(pair.one, 'one', { owner: 'here' })
      await added(pair.other, 'two', { owner: 'here' })
      expect(await pair.one.add(session('three', { owner: 'here' }), ROOM)).toBe(false)
      await added(pair.one, 'four')
      expect(await pair.other.add(session('five'), ROOM)).toBe(false)
      const alive = await Promise.all(['one', 'two', 'three', 'four', 'five'].map(id => pair.one.find(id)))
      expect(alive.map(held => held !== undefined)).toEqual([true, true, false, true, false])
    },
  ],
  [
    'changes a session for every process, by the version that was read and no other',
    async pair => {
      const one = await added(pair.one, 'one')
      const next = { ...one, remaining: 4 }
      expect(await pair.other.replace(next, BYTES_MAX)).toBe('replaced')
      expect(await pair.one.replace({ ...one, remaining: 3 }, BYTES_MAX)).toBe('changed')
      expect(await pair.one.find('one')).toEqual({ ...next, version: 1 })
      const both = [pair.one, pair.other].map(sessions =>
        sessions.replace({ ...next, version: 1, sent: 1 }, BYTES_MAX),
      )
      expect((await Promise.all(both)).sort()).toEqual(['changed', 'replaced'])
      expect(await pair.one.replace(session('nobody'), BYTES_MAX)).toBe('changed')
      expect(await pair.one.find('nobody')).toBeUndefined()
      expect(one.remaining).toBe(5)
    },
  ],
  [
    'holds no more words than there is room for, in all sessions together',
    async pair => {
      const [one, two] = [await added(pair.one, 'one'), await added(pair.other, 'two')]
      const more = { waiting: [word('x')], waitingBytes: 60 }
      expect(await pair.one.replace({ ...one, ...more }, BYTES_MAX)).toBe('replaced')
      expect(await pair.other.replace({ ...two, ...more }, BYTES_MAX)).toBe('full')
      expect(await pair.other.find('two')).toEqual(two)
      expect(await pair.other.replace({ ...two, sent: 1 }, 10)).toBe('replaced')
      const less = { ...one, version: 1, waitingBytes: 40 }
      expect(await pair.one.replace(less, 10)).toBe('replaced')
      expect(await pair.other.replace({ ...two, ...more, version: 1 }, BYTES_MAX)).toBe('replaced')
    },
  ],
  [
    'shows all that are open, wherever they were opened',
    async pair => {
      const [one, two] = [await added(pair.one, 'one'), await added(pair.other, 'two')]
      for (const side of [pair.one, pair.other]) expect(await side.all()).toEqual([one, two])
    },
  ],
  [
    'ends with its process what no other one can go on with, and nothing else',
    async pair => {
      await added(pair.one, 'one')
      const ended = await pair.one.endOwn()
      const isLeft = (await pair.other.find('one')) !== undefined
      expect(ended.map(({ id }) => id)).toEqual(isLeft ? [] : ['one'])
      expect(isLeft).toBe(pair.one !== pair.other)
    },
  ],
  [
    'ends what nobody has used for long, makes room for others, and keeps the rest',
    async pair => {
      const words = { owner: 'here', waiting: [word('x')], waitingBytes: 60 }
      await added(pair.one, 'one', words)
      await added(pair.one, 'two', { owner: 'here', seenMs: NOW_MS + 1 })
      expect(await pair.other.endIdle(NOW_MS)).toEqual([])
      expect(await pair.one.find('one')).toBeDefined()
      expect(await pair.other.endIdle(NOW_MS + 1)).toMatchObject([{ id: 'one', owner: 'here' }])
      expect(await pair.one.find('one')).toBeUndefined()
      expect(await pair.one.findTask('task of one')).toBeUndefined()
      expect(await pair.one.find('two')).toBeDefined()
      const three = await added(pair.other, 'three', { owner: 'here' })
      expect(await pair.other.replace({ ...three, ...words }, BYTES_MAX)).toBe('replaced')
    },
  ],
]
