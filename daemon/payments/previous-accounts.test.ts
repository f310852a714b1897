/** The account at a hub that a node left is compared by itself, and a hub that refuses to show it is named. */

import { afterEach, beforeEach, expect, test } from 'vitest'
import { networkOf, SettlementReceipt } from '../../protocol/proof/payment.ts'
import { warningsOf } from '../control/parts.ts'
import { keepComparison, raiseAlarm } from '../store/hub-accounts.ts'
import { writeHome } from '../store/hubs.ts'
import { HOUR_MS } from '../testing/node.ts'
import { PaidWorld, type PayingNode, PRICE } from '../testing/paying.ts'
import { refusedWith } from '../testing/scripted-hub.ts'
import type { Audit } from './audit.ts'
import { watchedNetworks } from './previous-accounts.ts'
import { auditOf } from './x402.ts'

let world: PaidWorld
let alice: PayingNode
let bob: PayingNode

beforeEach(async () => {
  world = new PaidWorld()
  ;({ alice, bob } = await world.paid())
})
afterEach(() => world[Symbol.asyncDispose]())

/** Audits of bob, at whichever hub he has an account. */
function dueAudit({ node }: PayingNode): Audit {
  const accountOf = async (network: string) =>
    network === networkOf(node.hub.identity.aid) ? node.hub : undefined
  const audit = auditOf(node.ctx, { accountOf, accounts: () => [node.hub] })
  world.pass(HOUR_MS)
  return audit
}
const balance = () => world.post.ledger.balanceOf(bob.node.aid).balance
const refusing = () =>
  warningsOf(bob.node.ctx)
    .list()
    .filter(said => said.includes('which this node left'))

/** Bob was paid, and moved; the hub that he left lost that it had paid him. */
async function lostByPrevious() {
  const id = await world.held(alice, bob)
  const restore = world.post.backup()
  bob.node.say(id, 'roses are red')
  await world.turns(3)
  expect([bob.payment(id)?.moved, balance()]).toEqual([PRICE, PRICE])
  world.move(bob)
  restore()
  expect(balance()).toBe(0)
  return id
}

test('what a previous hub took, and lost, is ordered there again by itself', async () => {
  await lostByPrevious()
  await dueAudit(bob).look()
  await world.turns(2)
  expect(balance()).toBe(PRICE)
})

test('a previous hub that refuses to show the account is named until it shows it', async () => {
  await lostByPrevious()
  const { credits } = bob.node.hub
  const { entriesAfter } = credits
  Object.assign(credits, { entriesAfter: () => Promise.reject(refusedWith('unauthorized')) })
  await dueAudit(bob).look()
  expect(refusing()).toEqual([expect.stringContaining(`svc balance --hub ${bob.node.hub.url}`)])
  Object.assign(credits, { entriesAfter })
  await dueAudit(bob).look()
  expect(refusing()).toEqual([])
})

test('a previous hub whose books are in doubt is named until a person accepts it', async () => {
  const { store } = bob.node.ctx
  const { aid } = bob.node.hub.identity
  const url = 'https://previous.example'
  store.transaction(() => {
    writeHome(store, { url, aid, wire: 3, log: new Uint8Array(), bits: 8 }, true, world.clock.ms)
    // the same hub under another address was not left
    writeHome(
      store,
      { url: `${url}:8443`, aid, wire: 3, log: new Uint8Array(), bits: 8 },
      true,
      world.clock.ms,
    )
    raiseAlarm(store, aid, 'it shows another balance')
  })
  expect(refusing()).toEqual([])
  const other = { url: 'https://home.example', aid: 'another hub', wire: 3 }
  store.transaction(() => {
    writeHome(store, { ...other, log: new Uint8Array(), bits: 8 }, true, world.clock.ms)
  })
  expect(refusing()).toEqual([
    expect.stringMatching(/it shows another balance; svc audit-hub --hub https:\S+ compares/),
  ])
  dueAudit(bob).accept(aid)
  expect(refusing()).toEqual([])
})

test('a previous hub is left alone once nothing is open or left there, and nothing was taken for two weeks', async () => {
  const watched = () => {
    const { store, hub, hubNow } = bob.node.ctx
    return watchedNetworks(store, hub, { previous: [bob.node.hub], nowMs: hubNow() })
  }
  expect(watched()).toEqual([])
  const id = await world.held(alice, bob)
  expect(watched()).toEqual([])
  world.move(bob)
  expect(watched()).toEqual([world.network])
  bob.node.say(id, 'roses are red')
  await world.turns(3)
  world.pass(13 * 24 * HOUR_MS)
  expect(watched()).toEqual([world.network])
  world.pass(24 * HOUR_MS)
  expect(watched()).toEqual([])
})

test('what a previous hub gave is compared for fourteen days since it signed that', async () => {
  const id = await world.held(alice, bob)
  bob.node.say(id, 'roses are red')
  await bob.payee.look()
  world.move(bob)
  const { store, hub } = bob.node.ctx
  const receipt = SettlementReceipt.decode(bob.payment(id)?.endReceipt ?? new Uint8Array())
  const at = (ms: number) =>
    watchedNetworks(store, hub, { previous: [], nowMs: receipt.body.settledAt + 14 * 24 * HOUR_MS + ms })
  expect([at(0), at(1)]).toEqual([[world.network], []])
})

test('a previous hub that owes a single credit is watched, and one that owes none is not', () => {
  const { store, hub, hubNow } = bob.node.ctx
  world.move(bob)
  const owes = (sum: number) => {
    keepComparison(store, world.post.log.aid, { seq: 1, sum, atMs: hubNow(), acceptedSeq: undefined })
    return watchedNetworks(store, hub, { previous: [bob.node.hub], nowMs: hubNow() })
  }
  expect([owes(0), owes(1)]).toEqual([[], [world.network]])
})
