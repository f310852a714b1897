// project: programs

/** Nodes at two hubs of wire 1 that hand mail on: a task between two agents without capabilities, cards or a visibility. */
import { afterAll, beforeAll, test } from 'vitest'
import type { Node } from '../../daemon/node.ts'
import { federate } from '../../hub/testing/open-peers.ts'
import { delegated, finished, type Lab, never, openLab, texts, until } from '../two-nodes/world.ts'

const HUB = { wires: [1], wire1Federation: { tells: true } } as const

let [here, there]: Lab[] = []
let alice: Node
let bob: Node
beforeAll(async () => {
  ;[here, there] = [await openLab({}, HUB), await openLab({}, HUB)]
  await federate((here as Lab).hub, (there as Lab).hub)
  alice = await (here as Lab).member('alice')
  bob = await (there as Lab).member('bob')
  await bob.handlers.contactAdd({ aid: alice.aid, petname: 'alice' }, never)
})
afterAll(async () => {
  for (const lab of [here, there]) await lab?.close()
})

test('a task goes there and back, and both sign its receipt', async () => {
  const id = await delegated(alice, bob, 'over two hubs')
  await bob.handlers.message({ interaction_id: id, text: 'here it is' }, never)
  await until('alice reads it', async () => (await texts(alice, id)).includes('here it is'))
  await finished(alice, bob, id)
})

test('also under keys that were rotated meanwhile', async () => {
  await alice.handlers.idRotate({}, never)
  const id = await delegated(alice, bob, 'under a new key')
  await bob.handlers.idRotate({}, never)
  await bob.handlers.message({ interaction_id: id, text: 'under another' }, never)
  await until('alice reads it', async () => (await texts(alice, id)).includes('under another'))
})
