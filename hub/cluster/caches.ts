/** Caches of one process among several: what another one changed is forgotten by its word, and after a second anyway. */
import type { Timers } from '../../protocol/timers.ts'
import { cachesInProcess } from '../core/in-process/caches.ts'
import type { Cache, Caches } from '../core/ports/caches.ts'
import type { KeptLink } from './kept-link.ts'
import type { Word } from './word.ts'

const TRUST_MS = 1000

type Parts = { word: Word; link: KeptLink; timers: Timers }
type Held<T> = { value: T; readMs: number }

export function cachesOver({ word, link, timers }: Parts): Caches {
  const here = cachesInProcess()
  const made: Cache<unknown>[] = []
  // word may have been lost meanwhile
  link.on({
    async up() {
      for (const one of made) one.clear()
    },
  })
  return {
    facts: here.facts,
    of<T>(name: 'agents' | 'accounts', keysMax: number): Cache<T> {
      const held = here.of<Held<T>>(name, keysMax)
      made.push(held as Cache<unknown>)
      const kind = `changed-${name}`
      word.listen(kind, key => held.forget(key))
      return {
        async find(key, read) {
          const find = () =>
            held.find(key, async () => {
              const readMs = timers.monotonic()
              const value = await read()
              return value === undefined ? undefined : { value, readMs }
            })
          const found = await find()
          if (found === undefined || timers.monotonic() - found.readMs < TRUST_MS) return found?.value
          held.forget(key)
          return (await find())?.value
        },
        put(key, value) {
          held.put(key, { value, readMs: timers.monotonic() })
          word.tell(kind, key)
        },
        forget(key) {
          held.forget(key)
          word.tell(kind, key)
        },
        refresh: key => held.forget(key),
        clear: () => held.clear(),
      }
    },
  }
}
