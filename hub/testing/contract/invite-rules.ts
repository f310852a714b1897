/** The contract of the store on invitations. */
import { expect } from 'vitest'
import { agentRow, bytes, DAY_MS, NOW_MS, type Rule, rule, type World } from './world.ts'

const hash = (n: number) => bytes(32, n)
const made = (n: number, max = 3) => ({ hash: hash(n), madeMs: NOW_MS + n, untilMs: NOW_MS + DAY_MS, max })

const joined = async ({ store }: World, aid: string, n: number, nowMs = NOW_MS) =>
  (
    await store.putAgent({
      row: agentRow(aid),
      entry: undefined,
      terms: [],
      invite: { hash: hash(n), nowMs },
    })
  ).outcome

export const inviteRules: readonly Rule[] = [
  rule('keeps invitations, the oldest first, and no more than so many', async world => {
    for (const n of [2, 1, 3]) expect(await world.store.addInvite(made(n))).toBe(true)
    expect(await world.store.addInvite(made(4))).toBe(false)
    await world.reopen()
    expect((await world.store.invites()).map(one => one.hash[0])).toEqual([1, 2, 3])
    const { max: _, ...kept } = made(2)
    expect(await world.store.invite(hash(2))).toEqual({ ...kept, usedBy: undefined })
    expect(await world.store.invite(hash(9))).toBeUndefined()
  }),

  rule(
    'lets one account in by each, also of those that come together, and none after its time',
    async world => {
      await world.store.addInvite(made(1))
      const together = await Promise.all(['agent-a', 'agent-b'].map(aid => joined(world, aid, 1)))
      expect(together.sort()).toEqual(['inviteGone', 'stored'])
      const [aid] = await Promise.all(
        ['agent-a', 'agent-b'].map(async one =>
          (await world.store.findAgent(one)) === undefined ? '' : one,
        ),
      ).then(all => all.filter(one => one !== ''))
      expect((await world.store.invite(hash(1)))?.usedBy).toBe(aid)
      await world.store.addInvite(made(2))
      expect(await joined(world, 'agent-c', 2, NOW_MS + DAY_MS)).toBe('inviteGone')
      expect(await joined(world, 'agent-c', 9)).toBe('inviteGone')
      expect(await world.store.findAgent('agent-c')).toBeUndefined()
      expect(await joined(world, 'agent-c', 2, NOW_MS + DAY_MS - 1)).toBe('stored')
    },
  ),

  rule('takes one back that nobody used, and no other', async world => {
    for (const n of [1, 2]) await world.store.addInvite(made(n))
    await joined(world, 'agent-a', 1)
    expect(await world.store.removeInvite(hash(1))).toBe(false)
    expect(await world.store.removeInvite(hash(2))).toBe(true)
    expect(await world.store.removeInvite(hash(2))).toBe(false)
    expect((await world.store.invites()).map(one => one.hash[0])).toEqual([1])
  }),
]
