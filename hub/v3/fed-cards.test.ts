/** Agents as peers are told of them, and the figure of those that peers told (hub API §4.6). */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { fromBase64url } from '../../protocol/encoding/bytes.ts'
import { decodeKel, verifyKel } from '../../protocol/identity/kel.ts'
import { KeySet, verifyKeySet } from '../../protocol/identity/keyset.ts'
import {
  callRoute,
  random,
  registeredAgent,
  startTestHub,
  type TestAgent,
  type TestHub,
} from '../testing/hub.ts'
import { expectRefusal } from '../testing/refusals.ts'
import { peerOf, sendRow } from '../testing/routes.ts'

type Told = { kel: string; keys: string; aid?: string; fed_seq: number }

let hub: TestHub
let alice: TestAgent
beforeAll(async () => {
  hub = await startTestHub()
  alice = await registeredAgent(hub)
})
afterAll(() => hub.close())

const setVisibility = (agent: TestAgent, visibility: string) =>
  agent.call('setVisibility', { visibility }, { params: { aid: agent.aid } })
async function ask(after: number): Promise<{ cards: Told[]; next: number | undefined }> {
  const { json } = await sendRow('fedCards', alice, { path: `/fed/v3/cards?cursor=${after}` })
  return { cards: json['cards'] as Told[], next: json['next'] as number | undefined }
}
async function rest(after: number): Promise<Told[]> {
  const { cards, next } = await ask(after)
  return next === undefined ? cards : [...cards, ...(await rest(next))]
}
const last = async (): Promise<number> => (await rest(0)).at(-1)?.fed_seq ?? 0
const aidOf = ({ kel }: Told) => verifyKel(decodeKel(fromBase64url(kel))).aid

test('a peer is told of federated agents alone, with key history and keys that hold', async () => {
  const [bob] = [await registeredAgent(hub), await registeredAgent(hub)]
  const before = await last()
  await setVisibility(bob, 'federated')
  const [told, ...others] = (await rest(before)) as [Told]
  const log = verifyKel(decodeKel(fromBase64url(told.kel)))
  expect([log.aid, log.home, others]).toEqual([bob.aid, hub.aid, []])
  expect(verifyKeySet(log, KeySet.decode(fromBase64url(told.keys))).body.aid).toBe(bob.aid)
})

test('other keys are told, and that an agent narrowed or left, once each', async () => {
  const bob = await registeredAgent(hub)
  await setVisibility(bob, 'public')
  let before = await last()
  await bob.call(
    'publishKeys',
    { keys: bob.makeKeys({ setSeq: 2 }), prev_seq: 1 },
    { params: { aid: bob.aid } },
  )
  expect((await rest(before)).map(aidOf)).toEqual([bob.aid])
  before = await last()
  await setVisibility(bob, 'hub-local')
  const withdrawn = { aid: bob.aid, withdrawn: true, fed_seq: expect.any(Number) }
  expect(await rest(before)).toEqual([withdrawn])
  await setVisibility(bob, 'federated')
  before = await last()
  await bob.call('deregister', {}, { params: { aid: bob.aid } })
  expect(await rest(before)).toEqual([withdrawn])
})

test('an agent that told its keys anew under another key is told with both', async () => {
  const bob = await registeredAgent(hub)
  await setVisibility(bob, 'federated')
  const before = await last()
  bob.rotate()
  await bob.call('register', { aid: bob.aid, kel: bob.kel, enc_keys: bob.makeKeys(), prev_seq: 0 })
  const [told] = (await rest(before)) as [Told]
  const log = verifyKel(decodeKel(fromBase64url(told.kel)))
  expect([log.seq, verifyKeySet(log, KeySet.decode(fromBase64url(told.keys))).body.kelSeq]).toEqual([
    bob.log.seq,
    bob.log.seq,
  ])
})

test('are two hundred a page at most', async () => {
  const store = hub.running.hub.context.store
  const before = await last()
  const row = await store.findAgent(alice.aid)
  if (row === undefined) throw new Error('alice is gone')
  for (let n = 0; n < 401; n++) {
    const made = { ...row, aid: `agent-${n}`, number: 0, version: 0, visibility: 'federated' } as const
    await store.putAgent({ row: made, entry: undefined, terms: [] })
  }
  const sizes: number[] = []
  for (let after: number | undefined = before; after !== undefined; ) {
    const page: Awaited<ReturnType<typeof ask>> = await ask(after)
    sizes.push(page.cards.length)
    after = page.next
  }
  expect(sizes).toEqual([200, 200, 1])
  expectRefusal(await sendRow('fedCards', alice, { path: '/fed/v3/cards?cursor=x' }), 'bad_request')
})

test('the figures of a hub count the agents that listed peers told of', async () => {
  const { store, peers } = hub.running.hub.context
  const peer = peerOf(alice)
  const counted = async () => (await callRoute(hub, 'stats', undefined)).json['federated_agents']
  await store.takePeerCards({
    hub: peer.aid,
    items: [
      { aid: 'bob', kel: random(9) },
      { aid: 'eve', kel: random(9) },
    ],
    fedSeq: 2,
    max: 9,
  })
  await store.takePeerCards({
    hub: 'another hub',
    items: [{ aid: 'joe', kel: random(9) }],
    fedSeq: 1,
    max: 9,
  })
  expect(await counted()).toBe(2)
  const listed = peers.all
  peers.replace([])
  expect(await counted()).toBe(0)
  peers.replace(listed)
})
