/** The direct address of a node, as a hub of wire 1 lists it. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { OwnAddress } from '../../daemon/membership/own-address.ts'
import { ToldContacts } from '../../daemon/membership/told-contacts.ts'
import { startTestHub, type TestHub } from '../../hub/testing/hub.ts'
import { type OpenNode, openNode } from './node.ts'

const HOUR_MS = 3_600_000

let hub: TestHub
let node: OpenNode
let own: OwnAddress
beforeAll(async () => {
  hub = await startTestHub({ wires: [1] })
  node = await openNode(hub)
  const contacts = new ToldContacts(node.ground, hub.clock.now)
  own = new OwnAddress({ ...node.ground, contacts }, hub.clock.now)
})
afterAll(async () => {
  await node.close()
  await hub.close()
})

const listed = async () => {
  const answer = await fetch(`${hub.url}/agents/${node.aid}/p2p`)
  return answer.status === 404 ? undefined : ((await answer.json()) as { addr: string }).addr
}
const set = (address: string) => node.ground.settings.change({ p2p: { address } })

test('is told to nobody where none was ever set', async () => {
  await own.tell(node.hub)
  expect([await listed(), own.isListed(node.hub)]).toEqual([undefined, false])
})

test('is listed once it is set, and another one in its place', async () => {
  for (const address of ['agent.example:4001', '[2001:db8::7]:4001']) {
    set(address)
    expect(own.isListed(node.hub)).toBe(false)
    await own.tell(node.hub)
    expect([await listed(), own.isListed(node.hub)]).toEqual([address, true])
  }
})

test('is told anew within an hour where the hub lists another one', async () => {
  set('agent.example:4001')
  await own.tell(node.hub)
  await node.hub.direct?.advertise('elsewhere.example:1')
  await own.tell(node.hub)
  expect(await listed()).toBe('elsewhere.example:1')
  hub.clock.advance(HOUR_MS)
  await own.tell(node.hub)
  expect(await listed()).toBe('agent.example:4001')
})

test('is told at once where the account is new', async () => {
  await node.hub.deregister()
  await node.hub.checkAdmission(node.ground.identity.log)
  own.forget(node.hub)
  expect(own.isListed(node.hub)).toBe(false)
  await own.tell(node.hub)
  expect([await listed(), own.isListed(node.hub)]).toEqual(['agent.example:4001', true])
})

test('is withdrawn, and stays so', async () => {
  set('')
  await own.tell(node.hub)
  expect([await listed(), own.isListed(node.hub)]).toEqual([undefined, false])
  await node.hub.direct?.advertise('agent.example:4001')
  hub.clock.advance(HOUR_MS)
  await own.tell(node.hub)
  expect(await listed()).toBeUndefined()
})
