/** Caches of one process keep their contract, and the contract refuses forms that were made wrong. */
import { expect, test } from 'vitest'
import { cachesRules } from '../../testing/ports/caches-rules.ts'
import { alone, apart, type Pair, portContract, refuses } from '../../testing/ports/contract.ts'
import type { Cache, Caches } from '../ports/caches.ts'
import { cachesInProcess } from './caches.ts'

/** Caches that do something otherwise. */
const but = (changed: <T>(cache: Cache<T>) => Partial<Cache<T>>) => (): Pair<Caches> => {
  const real = cachesInProcess()
  const of = <T>(name: 'agents' | 'accounts', keysMax: number): Cache<T> => {
    const cache = real.of<T>(name, keysMax)
    return {
      find: (key, read) => cache.find(key, read),
      put: (key, value) => cache.put(key, value),
      forget: key => cache.forget(key),
      refresh: key => cache.refresh(key),
      clear: () => cache.clear(),
      ...changed(cache),
    }
  }
  return alone({ ...real, of })
}

portContract('caches', cachesRules, () => alone(cachesInProcess()))

refuses<Caches>('caches', cachesRules, [
  ['of which no other process hears', apart(cachesInProcess), 'lets no other process go on'],
  ['that remembers nothing', but(() => ({ find: (_, read) => read() })), 'reads once what is there'],
  ['that never forgets', but(() => ({ forget: () => undefined })), 'lets no other process go on'],
  ['where whoever reads last wins', but(careless), 'keeps nothing that was read while it changed'],
  ['that forgets all for one', but(forgetful), 'forgets one key and no other'],
])

function forgetful<T>(cache: Cache<T>): Partial<Cache<T>> {
  return {
    forget(key) {
      cache.forget(key)
      cache.clear()
    },
  }
}

function careless<T>(cache: Cache<T>): Partial<Cache<T>> {
  return {
    async find(key, read) {
      const held = await cache.find(key, async () => undefined)
      const value = held ?? (await read())
      if (value !== undefined) cache.put(key, value)
      return value
    },
  }
}

test('a cache holds a bounded number of keys, those that came last', async () => {
  const cache = cachesInProcess().of<number>('accounts', 32)
  for (let n = 0; n < 100; n++) cache.put(`key ${n}`, n)
  const kept = await Promise.all(
    Array.from({ length: 100 }, (_, n) => cache.find(`key ${n}`, async () => undefined)),
  )
  const there = kept.filter(one => one !== undefined)
  expect([there.length <= 32, there.length > 28, there.at(-1)]).toEqual([true, true, 99])
})
