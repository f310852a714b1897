/** The contract of the store on agents with open mail that peers told of. */
import { expect } from 'vitest'
import type { OpenPeerAgent } from '../../store/open-peer-port.ts'
import { bytes, type Rule, rule, type World } from './world.ts'

const agent = (aid: string, more: Partial<OpenPeerAgent> = {}): OpenPeerAgent => ({
  ...{ aid, name: `name of ${aid}`, caps: ['a.b'], summary: 'summary', kel: bytes(10, 1), card: '{}' },
  seq: 1,
  ...more,
})
const take = (
  { store }: World,
  hub: string,
  agents: OpenPeerAgent[],
  { fedSeq = 1, max = 10 }: { fedSeq?: number; max?: number } = {},
) => store.takeOpenAgents({ hub, agents, fedSeq, max })
const asked = { hubs: ['hub-one', 'hub-two'], after: 0, limit: 10, caps: ['a.*'] }
const aids = async ({ store }: World, more: Partial<typeof asked> = {}) =>
  (await store.openPeerAgents({ ...asked, ...more })).agents.map(({ aid, hub }) => [aid, hub])

export const openPeerRules: readonly Rule[] = [
  rule('keeps what a peer told last of each agent, and how far it was read', async world => {
    await take(world, 'hub-one', [agent('bob'), agent('carol')], { fedSeq: 5 })
    expect(
      await take(world, 'hub-one', [agent('bob', { name: 'new', caps: ['a.c', 'x'], seq: 2 })], {
        fedSeq: 3,
      }),
    ).toEqual({
      left: 0,
    })
    await world.reopen()
    expect(await world.store.openAgentsRead('hub-one')).toBe(5)
    expect(await world.store.openAgentsRead('hub-two')).toBe(0)
    const told = agent('bob', { name: 'new', caps: ['a.c', 'x'], seq: 2 })
    expect(await world.store.openPeerAgent('bob', ['hub-one'])).toEqual({ ...told, hub: 'hub-one' })
    expect(await world.store.openPeerAgent('bob', ['hub-two'])).toBeUndefined()
    expect(await world.store.openPeerCount(asked.hubs)).toBe(2)
  }),

  rule(
    'lists an agent once, under the hub that told first, and none of hubs that were not asked for',
    async world => {
      await take(world, 'hub-two', [agent('bob')])
      await take(world, 'hub-one', [agent('bob'), agent('carol'), agent('dave', { caps: ['b'] })])
      await take(world, 'hub-three', [agent('erin')])
      expect(await aids(world)).toEqual([
        ['bob', 'hub-two'],
        ['carol', 'hub-one'],
      ])
      expect(await aids(world, { hubs: ['hub-one'], caps: ['b', 'a.b'] })).toEqual([
        ['bob', 'hub-one'],
        ['carol', 'hub-one'],
        ['dave', 'hub-one'],
      ])
      expect(await aids(world, { hubs: [] })).toEqual([])
      const { agents, next } = await world.store.openPeerAgents({ ...asked, limit: 1 })
      expect(agents.map(({ aid }) => aid)).toEqual(['bob'])
      expect(await aids(world, { after: next ?? 0 })).toEqual([['carol', 'hub-one']])
    },
  ),

  rule('keeps no more agents of a peer than it may, and forgets all of them', async world => {
    expect(await take(world, 'hub-one', [agent('bob'), agent('carol')], { max: 1 })).toEqual({ left: 1 })
    await take(world, 'hub-two', [agent('dave')])
    expect(await aids(world)).toEqual([
      ['bob', 'hub-one'],
      ['dave', 'hub-two'],
    ])
    await world.store.forgetOpenAgents('hub-one')
    expect(await aids(world)).toEqual([['dave', 'hub-two']])
    expect(await world.store.openAgentsRead('hub-one')).toBe(0)
    expect(await world.store.openPeerCount(asked.hubs)).toBe(1)
  }),

  rule('takes no card below one of a higher number, whoever told that, or had it here', async world => {
    const named = async (hub: string) => (await world.store.openPeerAgent('bob', [hub]))?.name
    await take(world, 'hub-one', [agent('bob', { seq: 5, name: 'five' })])
    const again = [
      agent('bob', { seq: 3, name: 'three', kel: bytes(20, 3) }),
      agent('bob', { seq: 5, name: 'other', kel: bytes(20, 5) }),
    ]
    await take(world, 'hub-one', again)
    await take(world, 'hub-two', [agent('bob', { seq: 4 })])
    expect([await named('hub-one'), await named('hub-two')]).toEqual(['five', undefined])
    expect((await world.store.openPeerAgent('bob', ['hub-one']))?.kel).toEqual(bytes(20, 5))
    await take(world, 'hub-two', [agent('bob', { seq: 5, name: 'five' })])
    await take(world, 'hub-one', [agent('bob', { seq: 6, name: 'six' })])
    expect([await named('hub-one'), await named('hub-two')]).toEqual(['six', 'five'])
    expect(await world.store.hubsTelling('bob', asked.hubs)).toEqual(['hub-one', 'hub-two'])
    expect(await world.store.hubsTelling('bob', ['hub-two'])).toEqual(['hub-two'])
    await world.store.putOpenCard({ aid: 'carol', seq: 8, kelSeq: 0, card: '{}' })
    await world.store.removeOpenCard('carol')
    await take(world, 'hub-one', [agent('carol', { seq: 7 })])
    expect(await world.store.openPeerAgent('carol', asked.hubs)).toBeUndefined()
    expect(await world.store.openPeerCount(asked.hubs)).toBe(2)
  }),

  rule(
    'forgets what a peer tells no more once it was read again to its end, and nothing before',
    async world => {
      const all = [agent('bob'), agent('carol'), agent('dave', { seq: 4 })]
      await take(world, 'hub-one', all, { fedSeq: 9 })
      await take(world, 'hub-two', [agent('erin')])
      await world.store.dropUntold('hub-one')
      expect(await aids(world)).toHaveLength(4)
      await world.store.rereadOpenAgents('hub-one')
      expect(await world.store.openAgentsRead('hub-one')).toBe(0)
      await world.reopen()
      await take(world, 'hub-one', [agent('carol'), agent('dave', { seq: 3 })], { fedSeq: 4 })
      expect(await aids(world)).toHaveLength(4)
      await world.store.dropUntold('hub-one')
      expect(await aids(world)).toEqual([
        ['carol', 'hub-one'],
        ['dave', 'hub-one'],
        ['erin', 'hub-two'],
      ])
      expect(await world.store.openPeerCount(['hub-one'])).toBe(2)
      expect((await world.store.hubsOfOpenAgents()).sort()).toEqual(['hub-one', 'hub-two'])
      await world.store.forgetOpenAgents('hub-one')
      await world.store.rereadOpenAgents('hub-three')
      expect((await world.store.hubsOfOpenAgents()).sort()).toEqual(['hub-three', 'hub-two'])
    },
  ),
]
