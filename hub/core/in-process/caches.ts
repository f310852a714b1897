/** Caches of one process, which trusts what it has: nobody else writes. */
import { makeRoom } from '../bounded.ts'
import type { Cache, Caches } from '../ports/caches.ts'

type Reading = { key: string; isOld: boolean }

class CacheInProcess<T> implements Cache<T> {
  readonly #keysMax: number
  readonly #held = new Map<string, T>()
  readonly #reading = new Set<Reading>()

  constructor(keysMax: number) {
    this.#keysMax = keysMax
  }

  async find(key: string, read: () => Promise<T | undefined>): Promise<T | undefined> {
    const held = this.#held.get(key)
    if (held !== undefined) return held
    const reading: Reading = { key, isOld: false }
    this.#reading.add(reading)
    try {
      const value = await read()
      if (value !== undefined && !reading.isOld) this.#keep(key, value)
      return value
    } finally {
      this.#reading.delete(reading)
    }
  }

  put(key: string, value: T): void {
    this.forget(key)
    this.#keep(key, value)
  }

  forget(key: string): void {
    this.#held.delete(key)
    for (const reading of this.#reading) if (reading.key === key) reading.isOld = true
  }

  /** Nobody else writes. */
  refresh(): void {}

  clear(): void {
    this.#held.clear()
  }

  #keep(key: string, value: T): void {
    this.#held.delete(key)
    makeRoom(this.#held, this.#keysMax)
    this.#held.set(key, value)
  }
}

export function cachesInProcess(): Caches {
  const named = new Map<string, unknown>()
  const of = <T>(name: string, keysMax: number): CacheInProcess<T> => {
    const cache = (named.get(name) ?? new CacheInProcess<T>(keysMax)) as CacheInProcess<T>
    named.set(name, cache)
    return cache
  }
  return { of, facts: of }
}
