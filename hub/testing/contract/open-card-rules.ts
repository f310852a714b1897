/** The contract of the store on cards of agents with open mail. */
import { expect } from 'vitest'
import { type Rule, rule, type World } from './world.ts'

const card = (seq: number, text: string) => ({ aid: 'bob', seq, kelSeq: 0, card: text })
const put = async ({ store }: World, seq: number, text: string) =>
  (await store.putOpenCard(card(seq, text))).outcome

export const openCardRules: readonly Rule[] = [
  rule('keeps the card with the highest number, to the byte', async world => {
    expect(await world.store.openCard('bob')).toBeUndefined()
    expect(await put(world, 2, '{ "a": 1 }')).toBe('stored')
    expect([await put(world, 2, '{ "a": 1 }'), await put(world, 2, '{"a":1}')]).toEqual([
      'unchanged',
      'older',
    ])
    expect(await put(world, 1, '{}')).toBe('older')
    await world.reopen()
    expect(await world.store.openCard('bob')).toEqual(card(2, '{ "a": 1 }'))
    expect(await put(world, 3, '{}')).toBe('stored')
    expect(await world.store.openCard('bob')).toEqual(card(3, '{}'))
  }),

  rule('takes a card away and none of its numbers back', async world => {
    await put(world, 2, '{}')
    await world.store.removeOpenCard('bob')
    await world.store.removeOpenCard('nobody')
    expect(await world.store.openCard('bob')).toBeUndefined()
    expect([await put(world, 2, '{}'), await put(world, 3, '{}')]).toEqual(['older', 'stored'])
  }),
]
