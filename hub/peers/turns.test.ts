import { expect, test } from 'vitest'
import { PeerBusy, Turns } from './turns.ts'

const never = new AbortController().signal
const MIB = 1024 * 1024

test('a call begins when the one before it has ended, however that ended', async () => {
  const turns = new Turns()
  const order: string[] = []
  const { promise, reject } = Promise.withResolvers<void>()
  const first = turns.take(1, never, async () => {
    order.push('first')
    await promise
  })
  const second = turns.take(1, never, async () => order.push('second'))
  await Promise.resolve()
  reject(new Error('away'))
  await expect(first).rejects.toThrow('away')
  await second
  expect(order).toEqual(['first', 'second'])
})

test('a call that passes its turn on is overtaken, and counts until it has ended', async () => {
  const turns = new Turns()
  const { promise, resolve } = Promise.withResolvers<void>()
  const slow = turns.take(40 * MIB, never, async passOn => {
    passOn()
    await promise
  })
  expect(await turns.take(1, never, async () => 'ran')).toBe('ran')
  await expect(turns.take(40 * MIB, never, async () => 1)).rejects.toBeInstanceOf(PeerBusy)
  resolve()
  await slow
})

test('nobody waits longer than it wants to, and those behind go on', async () => {
  const turns = new Turns()
  const { promise, resolve } = Promise.withResolvers<void>()
  const slow = turns.take(1, never, () => promise)
  const impatient = new AbortController()
  const given = turns.take(1, impatient.signal, async () => 'never run')
  const behind = turns.take(1, never, async () => 'ran')
  const cause = new Error('too late')
  impatient.abort(cause)
  await expect(given).rejects.toMatchObject({ name: 'PeerBusy', cause })
  resolve()
  expect(await Promise.all([slow, behind])).toEqual([undefined, 'ran'])
})

test.each([
  ['calls', 32, 1],
  ['bytes', 2, 32 * MIB],
])('so many %s wait and no more, and there is room again afterwards', async (_, count, bytes) => {
  const turns = new Turns()
  const { promise, resolve } = Promise.withResolvers<void>()
  const waiting = Array.from({ length: count }, () => turns.take(bytes, never, () => promise))
  await expect(turns.take(bytes, never, async () => 1)).rejects.toBeInstanceOf(PeerBusy)
  resolve()
  await Promise.all(waiting)
  expect(await turns.take(bytes, never, async () => 'ran')).toBe('ran')
})

test('a single call of any size is taken', async () => {
  expect(await new Turns().take(96 * MIB, never, async () => 'ran')).toBe('ran')
})
