/** A slow address takes no turn of other mail. */
import { expect, test } from 'vitest'
import { UnderWay } from './under-way.ts'

test('two calls to one contact and three in all are under way at once; what is more goes another way', async () => {
  const calls = new UnderWay()
  const slow = Promise.withResolvers<string>()
  const begun = ['bob', 'bob', 'bob', 'carol', 'dave'].map(peer => calls.do(peer, () => slow.promise))
  expect(await begun[2]).toBeUndefined()
  expect(await begun[4]).toBeUndefined()
  slow.resolve('taken')
  expect(await Promise.all(begun)).toEqual(['taken', 'taken', undefined, 'taken', undefined])
  expect(await calls.do('bob', async () => 'taken')).toBe('taken')
})

test('a call that fails gives its turn back', async () => {
  const calls = new UnderWay()
  for (let n = 0; n < 5; n++)
    await expect(calls.do('bob', () => Promise.reject(new Error('cut')))).rejects.toThrow('cut')
  expect(await calls.do('bob', async () => 'taken')).toBe('taken')
})
