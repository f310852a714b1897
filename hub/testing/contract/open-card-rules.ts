/** The contract of the store on cards of agents with open mail. */
import { expect } from 'vitest'
import { agentRow, type Rule, rule, type World } from './world.ts'

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

  rule(
    'tells the cards of federated agents in the order in which they were stored, each once',
    async world => {
      for (const [aid, visibility] of [
        ['bob', 'federated'],
        ['carol', 'public'],
        ['dave', 'hub-local'],
      ] as const) {
        await world.put(agentRow(aid, { mail: 'open', visibility }))
        await world.store.putOpenCard({ aid, seq: 1, kelSeq: 0, card: `{"of":"${aid}"}` })
      }
      await world.put(agentRow('erin', { mail: 'sealed', visibility: 'public' }))
      await world.store.putOpenCard({ aid: 'erin', seq: 1, kelSeq: 0, card: '{}' })
      const page = async (
        more: { after?: number; limit?: number; bytesMax?: number; lookedMax?: number } = {},
      ) => await world.store.toldOpenCards({ after: 0, limit: 10, bytesMax: 1e6, lookedMax: 10, ...more })
      const told = async (after = 0) => (await page({ after })).told
      const [bob, carol] = await told()
      expect([bob, carol].map(one => one?.card)).toEqual(['{"of":"bob"}', '{"of":"carol"}'])
      expect(bob).toMatchObject({ aid: 'bob', seq: 1, kelSeq: 0, kel: agentRow('bob').kel })
      const one = { told: [bob], next: bob?.fedSeq }
      for (const more of [{ limit: 1 }, { bytesMax: 1 }, { lookedMax: 1 }])
        expect(await page(more)).toEqual(one)
      expect(await told(bob?.fedSeq)).toEqual([carol])
      const after = carol?.fedSeq ?? 0
      const { told: none, next } = await page({ after, lookedMax: 1 })
      expect([none, (next ?? 0) > after, (await page({ after })).next]).toEqual([[], true, undefined])
      await world.store.putOpenCard({ aid: 'bob', seq: 1, kelSeq: 0, card: '{"of":"bob"}' })
      expect(await told()).toEqual([bob, carol])
      await world.store.retellOpenCard('bob')
      const fedSeq = (await told()).at(-1)?.fedSeq ?? 0
      expect(fedSeq).toBeGreaterThan(carol?.fedSeq ?? 0)
      expect(await told()).toEqual([carol, { ...bob, fedSeq }])
      await world.store.removeOpenCard('bob')
      await world.store.retellOpenCard('bob')
      await world.store.retellOpenCard('nobody')
      expect(await told()).toEqual([carol])
    },
  ),
]
