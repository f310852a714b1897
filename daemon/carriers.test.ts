/** A node whose hubs speak two wires, each with a carrier of its own. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Carriers } from './carrier/carrier.ts'
import { carrierKinds, carriersOf } from './carriers.ts'
import type { Ground } from './context.ts'
import type { HubClient } from './hubs/hub.ts'
import { spoken } from './hubs/open.ts'
import { type TestNode, TestWorld } from './testing/node.ts'
import { Counter, openCarriers } from './testing/open-carrier.ts'

const OPEN_WIRE = 9

class WorldOfTwoWires extends TestWorld {
  readonly counter = new Counter()
  protected override carriersOf(below: Ground): Carriers {
    const open = (ground: Ground) => openCarriers(ground, this.counter)
    return carriersOf(below, new Map([...carrierKinds, [OPEN_WIRE, open]]))
  }
}

let world: WorldOfTwoWires
let alice: TestNode
let bob: TestNode

beforeEach(async () => {
  world = new WorldOfTwoWires()
  ;({ alice, bob } = await world.pair())
})
afterEach(() => world[Symbol.asyncDispose]())

/** The hub of a node, as one of another wire. */
const ofWire = (wire: number, { hub }: TestNode): HubClient =>
  Object.create(hub, { identity: { value: { ...hub.identity, wire } } })

test('a message goes by the carrier of the hub that it is given to', async () => {
  alice.delegate(bob)
  await alice.mail.attempts.make(ofWire(OPEN_WIRE, alice), alice.entry())
  expect([world.counter.letters.length, alice.hub.sent.length]).toEqual([1, 0])
  alice.delegate(bob, 'count them again')
  await alice.mail.attempts.make(alice.hub, alice.entry())
  expect([world.counter.letters.length, alice.hub.sent.length]).toEqual([1, 1])
})

test('a hub keeps the carrier that it has', () => {
  const { carriers } = alice.ctx
  expect(carriers.over(alice.hub)).toBe(carriers.over(alice.hub))
})

test('an agent is looked up by the carrier of the home hub, and by none where there is no home', async () => {
  const { carriers, hub } = alice.ctx
  const find = async () => (await carriers.find(bob.aid)).outcome
  expect([await find(), alice.hub.calls.includes('bucket')]).toEqual(['found', true])
  alice.hub.calls.length = 0
  hub.settleAt(ofWire(OPEN_WIRE, alice))
  expect([await find(), alice.hub.calls]).toEqual(['not_listed', []])
  hub.leave()
  expect(await carriers.find(bob.aid)).toEqual({ outcome: 'not_known', why: 'no_hub' })
})

test('a hub of a wire without a carrier is named as such', () => {
  expect(() => alice.ctx.carriers.over(ofWire(8, alice))).toThrow(
    'nothing carries the mail of the hub http://hub.test, of wire 8',
  )
})

test('every wire that this node speaks has a carrier', () => {
  expect(spoken.filter(wire => !carrierKinds.has(wire))).toEqual([])
})
