/** The contract of the store on the witnesses of its supply chain. */
import { expect } from 'vitest'
import { bytes, NOW_MS, type Rule, rule, type World } from './world.ts'

const put = (world: World, aid: string, url?: string, max = 2) => world.store.putWitness({ aid, url, max })

const statement = (world: World, seq: number, observedMs: number, more = {}) =>
  world.store.keepStatement({
    witness: 'witness-one',
    seq,
    observedMs,
    statement: bytes(8, seq),
    kel: bytes(9, 1),
    keptSinceDay: 0,
    ...more,
  })

export const witnessRules: readonly Rule[] = [
  rule(
    'names witnesses in AID order, no more than it may, and keeps an address until another comes',
    async world => {
      expect([await put(world, 'witness-two'), await put(world, 'witness-one', 'https://one')]).toEqual([
        true,
        true,
      ])
      expect([await put(world, 'witness-three'), await put(world, 'witness-one')]).toEqual([false, true])
      await world.reopen()
      const named = { kel: undefined, ahead: undefined }
      const one = { aid: 'witness-one', url: 'https://one', ...named }
      expect(await world.store.witnesses()).toEqual([one, { aid: 'witness-two', url: undefined, ...named }])
      expect([await world.store.witness('witness-one'), await world.store.witness('nobody')]).toEqual([
        one,
        undefined,
      ])
    },
  ),

  rule('takes only statements that go on, of witnesses that it knows', async world => {
    await put(world, 'witness-one')
    expect([
      await statement(world, 3, NOW_MS),
      await statement(world, 2, NOW_MS + 1),
      await statement(world, 3, NOW_MS),
      await statement(world, 3, NOW_MS + 1),
      await statement(world, 4, NOW_MS + 2, { witness: 'nobody' }),
    ]).toEqual([true, false, false, true, false])
    expect(await world.store.witnessStatements()).toEqual([
      { witness: 'witness-one', seq: 3, observedMs: NOW_MS + 1, statement: bytes(8, 3) },
    ])
    expect((await world.store.witness('witness-one'))?.kel).toEqual(bytes(9, 1))
  }),

  rule(
    'keeps what a witness says of a record that is not here, and forgets it with the witness',
    async world => {
      await put(world, 'witness-one')
      await statement(world, 1, NOW_MS)
      await world.store.keepAhead({ witness: 'witness-one', kel: bytes(9, 2), statement: bytes(8, 9) })
      expect(await world.store.witness('witness-one')).toMatchObject({ kel: bytes(9, 2), ahead: bytes(8, 9) })
      const removed = [
        await world.store.removeWitness('witness-one'),
        await world.store.removeWitness('witness-one'),
      ]
      expect(removed).toEqual([true, false])
      expect([await world.store.witnesses(), await world.store.witnessStatements()]).toEqual([[], []])
    },
  ),

  rule('has no records of a hub that nobody watches from here', async world => {
    expect(await world.store.watchedRecords({ hub: 'hub', from: 0, limit: 10 })).toBeUndefined()
  }),
]
