/** The contract of caches, as two processes see what is in one store. */
import { expect } from 'vitest'
import type { Caches } from '../../core/ports/caches.ts'
import type { Pair, Rule } from './contract.ts'

/** A store of one value a key, and how often it was read. */
class Shelf {
  readonly values = new Map<string, string>()
  reads = 0
  readonly read = (key: string) => async (): Promise<string | undefined> => {
    this.reads += 1
    return this.values.get(key)
  }
}

const opened = ({ one, other }: Pair<Caches>) => {
  const shelf = new Shelf()
  shelf.values.set('a', 'first').set('b', 'beside')
  const caches = [one, other].map(all => all.of<string>('agents', 100))
  const [here, there] = caches as [(typeof caches)[0], (typeof caches)[0]]
  const found = (of: typeof here, key = 'a') => of.find(key, shelf.read(key))
  return { shelf, here, there, found }
}

export const cachesRules: readonly Rule<Caches>[] = [
  [
    'reads once what is there, and again what is not',
    async pair => {
      const { shelf, here, found } = opened(pair)
      expect([await found(here), await found(here), shelf.reads]).toEqual(['first', 'first', 1])
      expect([await found(here, 'none'), await found(here, 'none'), shelf.reads]).toEqual([
        undefined,
        undefined,
        3,
      ])
    },
  ],
  [
    'has what was written in the process that wrote it',
    async pair => {
      const { shelf, here, found } = opened(pair)
      await found(here)
      here.put('a', 'second')
      expect([await found(here), shelf.reads]).toEqual(['second', 1])
    },
  ],
  [
    'lets no other process go on with what was written or forgotten since',
    async pair => {
      const { shelf, here, there, found } = opened(pair)
      await found(there)
      shelf.values.set('a', 'second')
      here.put('a', 'second')
      await pair.told()
      expect(await found(there)).toBe('second')
      shelf.values.set('a', 'third')
      here.forget('a')
      await pair.told()
      expect(await found(there)).toBe('third')
    },
  ],
  [
    'has what another process wrote as soon as it is refreshed, though no word of it came',
    async pair => {
      const { shelf, here, there, found } = opened(pair)
      await found(there)
      shelf.values.set('a', 'second')
      here.put('a', 'second')
      there.refresh('a')
      expect(await found(there)).toBe('second')
    },
  ],
  [
    'keeps nothing that was read while it changed',
    async pair => {
      const { here, found } = opened(pair)
      const slow = Promise.withResolvers<string>()
      const older = here.find('a', () => slow.promise)
      here.put('a', 'second')
      slow.resolve('first')
      expect([await older, await found(here)]).toEqual(['first', 'second'])
      const another = Promise.withResolvers<string>()
      const forgotten = here.find('c', () => another.promise)
      here.forget('c')
      another.resolve('of before')
      await forgotten
      expect(await found(here, 'c')).toBeUndefined()
    },
  ],
  [
    'keeps nothing of a read that failed',
    async pair => {
      const { here, found } = opened(pair)
      await expect(here.find('a', () => Promise.reject(new Error('no store')))).rejects.toThrow('no store')
      expect(await found(here)).toBe('first')
    },
  ],
  [
    'forgets one key and no other',
    async pair => {
      const { shelf, here, found } = opened(pair)
      await found(here, 'b')
      here.forget('a')
      expect([await found(here, 'b'), shelf.reads]).toEqual(['beside', 1])
    },
  ],
  [
    'frees all that it has, and reads it anew',
    async pair => {
      const { shelf, here, found } = opened(pair)
      await found(here)
      here.clear()
      expect([await found(here), shelf.reads]).toEqual(['first', 2])
    },
  ],
  [
    'remembers facts once they are reached, and no lack of one',
    async pair => {
      const facts = pair.one.facts<number>('capabilities', 100)
      const answers = [undefined, 7, 8]
      const reach = async () => answers.shift()
      expect([
        await facts.find('x', reach),
        await facts.find('x', reach),
        await facts.find('x', reach),
      ]).toEqual([undefined, 7, 7])
      facts.put('y', 9)
      expect(await facts.find('y', reach)).toBe(9)
    },
  ],
]
