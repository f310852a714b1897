// project: programs

/** Nodes at two hubs of wire 1 that hand mail on: a task between two agents without capabilities, cards or a visibility. */
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readConfig, writeConfig } from '../../daemon/home/config.ts'
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

test('also of somebody whose card its hub has read, under a key that was rotated since', async () => {
  const [one, other] = [here as Lab, there as Lab]
  const dir = join(one.folder, 'eve')
  const card = { voucher_url: 'http://127.0.0.1:9/redeem', voucher_addr: '127.0.0.1:0' }
  const modules = { blackboard: { allow: [bob.aid] } }
  const config = {
    ...readConfig(dir),
    ...card,
    caps: ['blackboard.write'],
    prices: { 'blackboard.write': 5 },
    modules,
  }
  writeConfig(dir, config as never)
  const eve = await one.member('eve')
  await bob.handlers.contactAdd({ aid: eve.aid, petname: 'eve' }, never)
  await eve.handlers.visibility({ visibility: 'federated' }, never)
  const shown = async () => {
    const answer = await fetch(`${other.line.url}/agents/${eve.aid}/kel`)
    return (await answer.json()) as { source?: string }
  }
  await other.hub.running.hub.readPeersNow()
  await until('the other hub was told of her', async () => (await shown()).source === 'federated')
  await eve.handlers.idRotate({}, never)
  const id = await delegated(eve, bob, 'under the newest key')
  expect(await texts(bob, id)).toEqual(['under the newest key'])
})
