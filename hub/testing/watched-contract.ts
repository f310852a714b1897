/** What every engine must do with the supply chains that a witness follows. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Followed, WatchedChains, WitnessStore } from '../store/witness-port.ts'
import { bytes } from './contract/world.ts'

/** Where chains are kept, empty at first: for two witnesses, and for the hub that serves from there. */
export type Watched = {
  chains: [one: WatchedChains, other: WatchedChains]
  store: Pick<WitnessStore, 'watchedRecords'>
  end(): Promise<void>
}

const followed = (before: number, records: number, more: Partial<Followed> = {}): Followed => ({
  hub: 'hub-one',
  before,
  records: Array.from({ length: records }, (_, at) => bytes(5, before + at)),
  kel: bytes(9, 1),
  length: before + records,
  place: `place ${before + records}`,
  statement: bytes(8, before + records),
  ...more,
})

export function watchedContract(engine: string, open: () => Promise<Watched>): void {
  describe(`watched chains on ${engine}`, () => {
    let watched: Watched
    beforeEach(async () => {
      watched = await open()
    })
    afterEach(() => watched.end())

    test('a chain is kept as far as it was followed, and goes on from there', async () => {
      const [chains] = watched.chains
      expect([await chains.chain('hub-one'), await chains.records('hub-one', 0)]).toEqual([undefined, []])
      expect([await chains.keep(followed(0, 3)), await chains.keep(followed(3, 0))]).toEqual([true, true])
      expect(await chains.keep(followed(3, 2))).toBe(true)
      const { kel, length, place, statement } = followed(3, 2)
      expect(await chains.chain('hub-one')).toEqual({ kel, length, place, statement })
      expect((await chains.records('hub-one', 1)).map(([first]) => first)).toEqual([1, 2, 3, 4])
      expect(await chains.chain('hub-two')).toBeUndefined()
    })

    test('of two that follow a chain at once one is kept, and the other told', async () => {
      const [one, other] = watched.chains
      const kept = await Promise.all([one.keep(followed(0, 2)), other.keep(followed(0, 3))])
      expect([...kept].sort()).toEqual([false, true])
      const length = kept[0] ? 2 : 3
      expect((await other.chain('hub-one'))?.length).toBe(length)
      expect((await one.records('hub-one', 0)).length).toBe(length)
      expect(await other.keep(followed(0, 3))).toBe(false)
    })

    test('a hub shows what is watched beside it, some records at a time', async () => {
      const [chains] = watched.chains
      const ask = (from: number, limit: number) =>
        watched.store.watchedRecords({ hub: 'hub-one', from, limit })
      expect(await ask(0, 9)).toBeUndefined()
      await chains.keep(followed(0, 3))
      await chains.keepConflict('hub-one', 5, 'it does not go on', bytes(5, 9))
      await chains.keepConflict('hub-one', 6, 'it is shorter', undefined)
      const { length, statement, records } = followed(0, 3)
      expect(await ask(1, 9)).toEqual({ length, statement, records: records.slice(1) })
      expect(await ask(0, 2)).toEqual({ length, statement, records: records.slice(0, 2) })
    })
  })
}
