/** The check of the pairs between hubs, tried on worlds in which one thing is wrong. */
import { describe, expect, test, vi } from 'vitest'
import { HOUR_MS } from '../../../hub/core/limits.ts'
import { random } from '../../../hub/testing/hub.ts'
import { faults, stuck, unanswered } from './check.ts'
import { requestsLost } from './line.ts'
import { mail, money, type Waiting } from './rows.ts'
import { PeersWorld } from './world.ts'

const found = async ({ world }: Waiting) =>
  [...(await faults(world)), ...unanswered(world), ...(await stuck(world))].join('\n')

const cases: [is: string, row: string, change: (waiting: Waiting) => unknown, says: RegExp][] = [
  [
    'credits that no payment explains',
    'a payment whose answer was lost',
    async ({ world }) => {
      const id = Buffer.from(random(16)).toString('hex')
      const given = { amount: 3, reason: 'a test', id }
      await world.west.running.order({ command: 'grant', aid: world.agents.bob.aid, ...given })
    },
    /an agent that had 0 has 33 and 0 held; payments say 30 and 0/,
  ],
  [
    'a letter that was acknowledged and is gone',
    'a letter that has arrived',
    async ({ world }) => {
      const { messages } = await world.agents.bob.poll()
      await world.agents.bob.call('relayAck', { items: messages.map(({ id }) => ({ id })) })
    },
    /the letter was acknowledged by east and is lost/,
  ],
  [
    'a letter that came twice',
    'a letter that has arrived',
    ({ world }) => world.letters.map(letter => vi.spyOn(letter, 'arrived').mockResolvedValue(2)),
    /the letter lies 2 times in the mailbox/,
  ],
  [
    'a payment of which one side has forgotten its part',
    'a payment whose answer was lost',
    async ({ world }) => {
      const restore = await world.east.backUp(world.folder)
      const after = world.payments.length
      await money.find(({ name }) => name === 'a hold')?.begin(world)
      await world.turn()
      await restore()
      await world.reachable(world.east)
      world.east.restores.length = 0
      expect(world.payments).toHaveLength(after + 1)
    },
    /the payment: east took 0, west gave 12 from nowhere/,
  ],
  [
    'books that do not agree',
    'a hold',
    ({ world }) => vi.spyOn(world.west.store, 'booksAgree').mockResolvedValue(false),
    /the books of west do not agree/,
  ],
]

describe('the check', () => {
  test.each(cases)('sees %s', async (_, name, change, says) => {
    await using world = await PeersWorld.open()
    const row = [...mail, ...money].find(one => one.name === name)
    if (row === undefined) throw new Error(`no row is called: ${name}`)
    const waiting = await row.begin(world)
    await world.turn()
    expect(await found(waiting)).toBe('')
    await change(waiting)
    expect(await found(waiting)).toMatch(says)
  })

  test('sees what nobody answers', async () => {
    await using world = await PeersWorld.open()
    const waiting = await money[0]?.begin(world)
    for (const hub of world.hubs) world.line(hub).fault = requestsLost
    await world.pass(6 * HOUR_MS)
    await world.turn()
    expect(await found(waiting as Waiting)).toMatch(
      /the payment has no answer \(.*ask again.*\).*\n.*the payment is asked at west for ever/,
    )
  })

  test('counts what nodes pay as well, and sees what one side of it has forgotten', async () => {
    await using world = await PeersWorld.open()
    await money[0]?.begin(world)
    const restore = await world.east.backUp(world.folder)
    await money.find(({ name }) => name === 'a hold')?.begin(world)
    await world.turn()
    await restore()
    await world.reachable(world.east)
    world.east.restores.length = 0
    const { hubs, letters, readings, payments: crossings } = world
    const scene = { hubs, letters, readings, payments: [], had: new Map() }
    const given = (amount: number) => `the payment: east took 0, west gave ${amount} from nowhere`
    expect(await faults({ ...scene, crossings })).toEqual([given(30), given(12)])
    expect((await faults(scene)).join()).toMatch(/owes .* payments explain 0/)
  })
})
