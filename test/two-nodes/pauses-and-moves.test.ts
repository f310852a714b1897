/** What waits at a hub while its node moves to another one, or rotates its key while the hub says nothing. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { HubUnreachable } from '../../daemon/hubs/hub.ts'
import type { Node } from '../../daemon/node.ts'
import { paymentOf } from '../../daemon/store/payments.ts'
import { startTestHub, type TestHub } from '../../hub/testing/hub.ts'
import { delegated, inboxIds, type Lab, never, openPair, texts, thread, until } from './world.ts'

const PRICE = 7
let lab: Lab
let second: TestHub
let alice: Node
let bob: Node
beforeAll(async () => {
  ;({ lab, alice, bob } = await openPair())
  second = await startTestHub()
  await alice.handlers.contactAdd({ aid: bob.aid, petname: 'bob' }, never)
})
afterAll(async () => {
  lab.line.release()
  await lab.close()
  await second.close()
})

test('messages around a rotation during a pause of the hub are read in the order in which they were said', async () => {
  const id = await delegated(alice, bob, 'in order')
  const said: string[] = []
  const say = async (text: string) => {
    said.push(text)
    await alice.handlers.message({ interaction_id: id, text }, never)
  }
  for (let round = 1; round <= 3; round++) {
    await say(`before ${round}`)
    lab.line.hold()
    await say(`in the pause ${round}`)
    const rotating = alice.handlers.idRotate({}, never)
    await until('the key is new', () => alice.ctx.identity.log.seq === round + 1)
    await say(`after the rotation ${round}`)
    lab.line.release()
    await rotating
    await say(`after the pause ${round}`)
    await until('all of it is read', async () => (await texts(bob, id)).includes(said.at(-1) as string))
    await until('and the rest', async () => (await texts(bob, id)).length === said.length + 1)
    expect(await texts(bob, id)).toEqual(['in order', ...said])
  }
})

test('an order about a hold goes to the hub of its network after a move, with the key that the move made', async () => {
  await bob.handlers.priceSet({ capability: 'task', amount: PRICE }, never)
  await alice.handlers.delegate({ to: 'bob', task: 'a poem', pay: true, max_credits: PRICE }, never)
  const heldId = async () => {
    const shown = await Promise.all((await inboxIds(bob)).map(id => thread(bob, id)))
    return shown.find(one => one.payment?.state === 'held')?.interaction_id
  }
  await until('it is held', heldId)
  const id = (await heldId()) as string
  const row = () => paymentOf(bob.ctx.store, bob.ctx.threads.findById(id)?.key ?? -1)
  const credits = bob.ctx.hub.home?.credits
  if (credits === undefined) throw new Error('no hub')
  credits.endHold = () => Promise.reject(new HubUnreachable(lab.hub.url))
  await bob.handlers.message({ interaction_id: id, text: 'roses are red' }, never)
  await until('the order waits', () => row()?.state === 'ending')
  second.clock.advance(lab.hub.clock.now() - second.clock.now())
  await second.running.hub.context.store.admit(bob.aid, true)
  await bob.handlers.hubRegister({ url: second.url }, never)
  expect(bob.ctx.hub.home?.identity.aid).toBe(second.aid)
  bob.ctx.store.run('UPDATE payments SET next_at = 0')
  bob.ctx.wakers.payments.wake()
  await until('it is taken', () => row()?.state === 'ended')
  expect(row()).toMatchObject({ moved: PRICE, network: `hub:${lab.hub.aid}` })
  expect((await bob.handlers.balance({ hub: lab.hub.url }, never)).balance).toBeGreaterThanOrEqual(PRICE)
  const elsewhere = await bob.handlers.balance({}, never)
  expect([elsewhere.hub, elsewhere.entries.filter(({ reason }) => reason === 'captured')]).toEqual([
    second.aid,
    [],
  ])
})
