/** A copy of a node that its owner let take over, and the first one when it comes back. */
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { acceptCopy } from '../../daemon/chain/accept.ts'
import { OperationRefused } from '../../protocol/control/refusal.ts'
import { faults } from './check.ts'
import { delegate, tell } from './row.ts'
import type { Side } from './side.ts'
import { MatrixWorld } from './world.ts'

const { signal } = new AbortController()
const redeem = ({ payments }: Side) => payments.redeem({ amount: 1, reference: 'invoice 1' }, signal)

/** Alice is off, and a copy of her took over, which nobody has seen yet. */
async function takenOver(world: MatrixWorld): Promise<Side> {
  await world.begin()
  world.grant()
  await world.startCopy(world.alice)
  const copy = world.copies[0] as Side
  expect(copy.ctx.hub.oldCopy).toMatch(/already runs elsewhere/)
  await world.turns(1)
  const outside = { now: () => world.clock.ms, random: copy.ctx.random }
  await copy.restart(dir => void acceptCopy(dir, { SVC_RUNTIME_DIR: join(dir, 'run') }, outside))
  world.copies.length = 0
  return copy
}

describe('the first one, when a copy has taken over', () => {
  test('is behind at its first look at the hub, and nothing of it leaves', async () => {
    await using world = new MatrixWorld()
    const copy = await takenOver(world)
    const { alice, bob } = world
    const key = copy.ctx.keys.set?.body.setSeq ?? 0
    expect(key).toBeGreaterThan(alice.ctx.keys.set?.body.setSeq ?? 0)
    expect(copy.ctx.keys.isConfirmed).toBe(true)
    await alice.restart()
    expect(alice.ctx.hub.oldCopy).toMatch(/it is an old copy/)
    const length = alice.ctx.chain.length
    const sent = alice.hub.calls.filter(call => call === 'send').length
    await world.turns(3)
    expect(alice.ctx.chain.length).toBe(length)
    expect(alice.hub.calls.filter(call => call === 'send')).toHaveLength(sent)
    const id = delegate(world, { to: bob })
    world.said.length = 0
    await copy.turn()
    expect(alice.ctx.hub.oldCopy).toBeDefined()
    expect(bob.ctx.threads.findById(id)).toBeUndefined()
    expect(faults(world)).toEqual([])
    await copy.stop()
  })

  test('pays, redeems and sends nothing while the hub cannot be asked, and says so', async () => {
    await using world = new MatrixWorld()
    const copy = await takenOver(world)
    await copy.stop()
    const { alice, bob } = world
    const id = delegate(world, { to: bob })
    alice.hub.answers({ fetchAgent: () => Promise.reject(world.unreached()) })
    await alice.restart()
    expect(alice.ctx.hub).toMatchObject({ oldCopy: undefined, state: { state: 'offline' } })
    expect(alice.ctx.hub.unasked).toMatch(/nothing leaves this machine/)
    await expect(redeem(alice)).rejects.toThrow(OperationRefused)
    await expect(redeem(alice)).rejects.toMatchObject({ code: 'hub_unreachable' })
    await world.turns(3)
    expect(bob.ctx.threads.findById(id)).toBeUndefined()
    expect(world.post.ledger.asked).toEqual([])
    alice.hub.answers({})
    await world.turns(1)
    expect(alice.ctx.hub.oldCopy).toMatch(/it is an old copy/)
    expect(bob.ctx.threads.findById(id)).toBeUndefined()
  })

  test('sees nothing of a copy that was not accepted, and goes on', async () => {
    await using world = new MatrixWorld()
    await world.begin()
    await world.startCopy(world.alice)
    await world.turns(1)
    await world.alice.restart()
    const id = delegate(world, { to: world.bob })
    await world.turns(2)
    tell(world, world.bob, id, 'an answer')
    await world.turns(2)
    expect(world.alice.ctx.hub.unasked).toBeUndefined()
    expect(faults(world)).toEqual([])
  })
})
