/** What the operator of a hub does, as the nodes there meet it. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Node } from '../../daemon/node.ts'
import { counted } from '../../daemon/store/counters.ts'
import { delegated, finished, type Lab, never, openPair, texts, until } from './world.ts'

const DAYS_4_MS = 4 * 86_400_000
let lab: Lab
let alice: Node
let bob: Node

beforeAll(async () => {
  ;({ lab, alice, bob } = await openPair())
})
afterAll(() => lab.close())

test('nodes follow the hub when its key is rotated: mail goes on, attestations verify, nothing is warned of', async () => {
  lab.hub.clock.advance(DAYS_4_MS)
  const before = await delegated(alice, bob, 'before the rotation')
  expect(await lab.hub.running.order({ command: 'rotate' })).toEqual({ aid: lab.hub.aid, key_events: 2 })
  await finished(alice, bob, before)
  await until('alice knows the new key', () => alice.ctx.hub.home?.identity.log.seq === 1)
  await until('bob knows the new key', () => bob.ctx.hub.home?.identity.log.seq === 1)
  const review = await alice.handlers.review({ interaction_id: before, rating: 5 }, never)
  expect(review).toMatchObject({ uploaded: true })
  const kept = alice.ctx.store.get<{ reason: string | null }>(
    "SELECT reason FROM reviews WHERE state = 'uploaded'",
  )
  expect(kept).toEqual({ reason: null })
  await delegated(alice, bob, 'after the rotation')
  for (const node of [alice, bob]) expect(counted(node.ctx.store, 'notice_differs')).toBe(0)
})

test('a blocked agent gets no mail and is refused; unblocked, it goes on with what waited', async () => {
  const open = await delegated(alice, bob, 'before the block')
  await lab.hub.running.order({ command: 'block', aid: bob.aid })
  await alice.handlers.message({ interaction_id: open, text: 'meanwhile' }, never)
  await until('bob notices', async () => {
    const { hub } = (await bob.handlers.status(undefined, never)) as { hub?: { state?: string } }
    return hub?.state !== 'online'
  })
  await until('bob knows why', async () => {
    const { hub } = await bob.handlers.status(undefined, never)
    return hub?.kept_out === true && hub.reason?.includes(`svc-hub unblock ${bob.aid}`) === true
  })
  expect(await texts(bob, open)).not.toContain('meanwhile')
  await lab.hub.running.order({ command: 'unblock', aid: bob.aid })
  const again = await delegated(alice, bob, 'after the block')
  expect(await texts(bob, again)).toContain('after the block')
  await until(
    'bob is online, without a reason',
    () => JSON.stringify(bob.ctx.hub.state) === '{"state":"online"}',
  )
})
