/** Long answers at once: so many have a place, few of one address, and none for ever. */
import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import { TestTimers } from '../../protocol/testing/timers.ts'
import { nextTurn } from '../../protocol/timers.ts'
import { Refusal } from '../core/refusal.ts'
import { Places } from './places.ts'
import { Streamed } from './reply.ts'

const limits = { places: 3, ofAddress: 2, waiting: 3, waitingOfAddress: 2 }

/** As much of a response as places look at. */
class Taken extends EventEmitter {
  destroyed = false
  destroy(): void {
    this.destroyed = true
    this.emit('close')
  }
}

function world() {
  const timers = new TestTimers()
  const places = new Places(timers, limits)
  const begun: string[] = []
  /** One that is written until it is told to end, or its reader goes. */
  function answer(name: string, address: string) {
    const response = new Taken()
    const end = Promise.withResolvers<void>()
    response.on('close', () => end.reject(new Error('gone')))
    end.promise.catch(() => undefined)
    const reply = new Streamed({}, async () => {
      begun.push(name)
      await end.promise
    })
    const written = places.hold(address, reply).write(response as unknown as ServerResponse)
    const outcome = written.then(
      () => 'written',
      (error: unknown) => (error instanceof Refusal ? error.code : 'gone'),
    )
    return { response, outcome, end: () => end.resolve() }
  }
  return { timers, begun, answer }
}

test('one address has its share of the places, and others have theirs meanwhile', async () => {
  const { begun, answer } = world()
  const all = ['a', 'b', 'c'].map(name => answer(name, '198.51.100.1'))
  const other = answer('other', '198.51.100.2')
  await nextTurn()
  expect(begun).toEqual(['a', 'b', 'other'])
  all[0]?.end()
  await nextTurn()
  expect(begun).toEqual(['a', 'b', 'other', 'c'])
  expect(await all[0]?.outcome).toBe('written')
  for (const one of [...all, other]) one.end()
})

test('who waits has its turn in order, passed over while its address has its share', async () => {
  const { begun, answer } = world()
  const first = ['a', 'b'].map(name => answer(name, '198.51.100.1'))
  const third = answer('c', '198.51.100.2')
  for (const [name, address] of [
    ['d', '198.51.100.1'],
    ['e', '198.51.100.2'],
    ['f', '198.51.100.3'],
  ] as const)
    answer(name, address)
  third.end()
  await nextTurn()
  expect(begun).toEqual(['a', 'b', 'c', 'e'])
  first[0]?.end()
  await nextTurn()
  expect(begun).toEqual(['a', 'b', 'c', 'e', 'd'])
})

test('who waits for long, or where many wait, is told to come again later', async () => {
  const { timers, answer } = world()
  for (const name of ['a', 'b']) answer(name, '198.51.100.1')
  const waiting = ['c', 'd'].map(name => answer(name, '198.51.100.1'))
  expect(await answer('e', '198.51.100.1').outcome).toBe('overloaded')
  await timers.pass(5000)
  expect(await Promise.all(waiting.map(({ outcome }) => outcome))).toEqual(['overloaded', 'overloaded'])
  expect(timers.count).toBe(0)
})

test('who goes gives up its place, and its turn', async () => {
  const { timers, begun, answer } = world()
  const [a, , c] = ['a', 'b', 'c', 'd'].map(name => answer(name, '198.51.100.1'))
  c?.response.destroy()
  a?.response.destroy()
  expect(await Promise.all([a?.outcome, c?.outcome])).toEqual(['gone', 'gone'])
  expect(begun).toEqual(['a', 'b', 'd'])
  expect(timers.count).toBe(0)
})

test('when all places are taken, an answer that goes on and on ends for one that waits', async () => {
  const { timers, begun, answer } = world()
  const slow = answer('slow', '198.51.100.1')
  await timers.pass(100_000)
  for (const name of ['a', 'b']) answer(name, '198.51.100.2')
  const early = answer('early', '198.51.100.3')
  await timers.pass(5000)
  expect([await early.outcome, slow.response.destroyed]).toEqual(['overloaded', false])
  await timers.pass(20_000)
  answer('late', '198.51.100.3')
  expect(await slow.outcome).toBe('gone')
  await nextTurn()
  expect(begun).toEqual(['slow', 'a', 'b', 'late'])
})

test('a proxy that names nobody has all the places', async () => {
  const { begun, answer } = world()
  for (const name of ['a', 'b', 'c', 'd']) answer(name, '127.0.0.1')
  await nextTurn()
  expect(begun).toEqual(['a', 'b', 'c'])
})
