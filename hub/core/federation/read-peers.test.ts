/** What a hub reads of its peers, and what it forgets of those that are listed no more. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { TestTimers } from '../../../protocol/testing/timers.ts'
import { nextTurn } from '../../../protocol/timers.ts'
import { openCore, type TestCore } from '../../testing/core.ts'
import { random } from '../../testing/hub.ts'
import { Agents } from '../agents.ts'
import { KeyLogs } from '../membership/key-logs.ts'
import type { PeerCalls } from './calls.ts'
import type { Federation } from './federation.ts'
import type { Peer } from './peers.ts'
import { readPeers } from './read-peers.ts'

let core: TestCore
let timers: TestTimers
let asked: string[]
let stop: () => Promise<void>
beforeEach(async () => {
  core = await openCore(0)
  timers = new TestTimers(0)
  asked = []
  const nothingNew = (what: string) => async (peer: Peer, after: number) => {
    asked.push(`${what} ${peer.aid}`)
    return { told: after === 2 ? [{ fedSeq: 3, withdrawn: 'eve' }] : [], more: false }
  }
  stop = readPeers(
    { ...core.context, timers, now: timers.now },
    {
      agents: new Agents(core.context),
      keyLogs: new KeyLogs(core.context),
      federation: {} as Federation,
      calls: { reviews: nothingNew('reviews'), cards: nothingNew('cards') } as unknown as PeerCalls,
    },
  ).stop
})
afterEach(async () => {
  await stop()
  await core.close()
})

const list = (...aids: string[]) =>
  core.context.peers.replace(aids.map(aid => ({ aid, url: `https://${aid}.example` }) as unknown as Peer))
async function pass(seconds: number): Promise<void> {
  await timers.pass(seconds * 1000)
  for (let round = 0; round < 3; round++) {
    await core.context.store.putSetting('a write', 'behind all others')
    for (let turn = 0; turn < 8; turn++) await nextTurn()
  }
}

test('reviews and cards of each peer are read, and nothing once it was ended', async () => {
  list('one', 'two')
  await pass(5)
  expect(asked.sort()).toEqual(['cards one', 'cards two', 'reviews one', 'reviews two'])
  await stop()
  await pass(60)
  expect([asked.length, timers.count]).toEqual([4, 0])
})

test('cards of a hub that is listed no more are forgotten, and those of others stay', async () => {
  const { store } = core.context
  for (const hub of ['one', 'two'])
    await store.takePeerCards({ hub, items: [{ aid: 'bob', kel: random(9) }], fedSeq: 3, max: 9 })
  list('one', 'two')
  await pass(60)
  expect(await store.peersWithCards()).toEqual(['one', 'two'])
  list('two')
  await pass(10)
  expect([await store.peersWithCards(), await store.peerCardsRead('one')]).toEqual([['two'], 0])
})

test('where there is nothing to forget, nothing is written', async () => {
  let writes = 0
  core.context.store.forgetPeerCards = async () => {
    writes += 1
  }
  await pass(60)
  list('one')
  await pass(60)
  expect(writes).toBe(0)
})
