/** The accounts of an identity: at its home, at homes of before, and at hubs that it left. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { networkOf } from '../../protocol/proof/payment.ts'
import { hubRow } from '../store/hubs.ts'
import { DAY_MS, type TestNode } from '../testing/node.ts'
import { refusedWith, type ScriptedHub } from '../testing/scripted-hub.ts'
import type { Membership } from './membership.ts'
import { HubsWorld } from './testing.ts'

let world: HubsWorld
let node: TestNode
let membership: Membership
let other: ScriptedHub
const { signal } = new AbortController()

beforeEach(async () => {
  world = new HubsWorld()
  node = await world.member()
  other = world.hub('http://other.test')
  ;({ membership } = world.opened)
  await membership.keepInSync(signal)
})
afterEach(() => world[Symbol.asyncDispose]())

const pushes = (hub: ScriptedHub) => hub.calls.filter(call => call === 'pushLog').length
const network = (hub: ScriptedHub) => networkOf(hub.identity.aid)
const toldOf = (hub: ScriptedHub) => hubRow(node.ctx.store, hub.url)?.registeredSeq

describe('the account at an address', () => {
  test('of the home is that of the home, which is asked nothing', async () => {
    node.hub.calls.length = 0
    expect(await membership.account(`${node.hub.url}//`)).toBe(node.hub)
    expect(node.hub.calls).toEqual([])
  })

  test('under which the home answers as well is that of the home', async () => {
    const alias = world.hub('http://alias.test')
    Object.assign(alias, { identity: node.hub.identity })
    expect(await membership.account(alias.url)).toBe(node.hub)
  })

  test('of a previous home hears of every key event', async () => {
    await membership.join(other.url, signal)
    await membership.rotate(signal)
    await membership.pushToPrevious()
    const before = pushes(node.hub)
    expect(await membership.account(node.hub.url)).toBe(node.hub)
    expect([pushes(node.hub), node.hub.calls.at(-1)]).toEqual([before, 'refresh'])
    node.ctx.identity.rotate(other.identity.aid, world.clock.ms + 1)
    await membership.account(node.hub.url)
    expect(pushes(node.hub)).toBe(before + 1)
  })

  test('of a hub that never knew this identity needs no log', async () => {
    expect(await membership.account(other.url)).toBe(other)
    expect(other.calls).toEqual(['refresh'])
  })
})

describe('the account of a network', () => {
  test('is at the home without a question, at a previous home with its newest keys, and nowhere else', async () => {
    node.hub.calls.length = 0
    expect(await membership.accountOf(network(node.hub))).toBe(node.hub)
    expect(node.hub.calls).toEqual([])
    expect(await membership.accountOf(network(other))).toBeUndefined()
    await membership.join(other.url, signal)
    node.hub.calls.length = 0
    expect(await membership.accountOf(network(node.hub))).toBe(node.hub)
    expect(node.hub.calls).toEqual(['refresh', 'pushLog'])
    expect(toldOf(node.hub)).toBe(node.ctx.identity.log.seq)
  })

  test('of a hub that knows the identity no more is one all the same', async () => {
    await membership.join(other.url, signal)
    node.hub.answers({ pushLog: () => Promise.reject(refusedWith('unknown_aid')) })
    expect(await membership.accountOf(network(node.hub))).toBe(node.hub)
    node.ctx.identity.rotate(other.identity.aid, world.clock.ms + 1)
    node.hub.answers({ pushLog: () => Promise.reject(refusedWith('rate_limited')) })
    await expect(membership.accountOf(network(node.hub))).rejects.toMatchObject({ code: 'rate_limited' })
  })
})

test('all accounts are the home, homes of before and hubs that were left, each once', async () => {
  expect(membership.accounts()).toEqual([node.hub])
  await membership.join(other.url, signal)
  expect(membership.accounts()).toEqual([other, node.hub])
  await membership.leave(undefined)
  expect(new Set(membership.accounts())).toEqual(new Set([node.hub, other]))
})

describe('the mailbox of a previous home', () => {
  test('is emptied for two weeks and an hour', async () => {
    expect(membership.draining()).toEqual([])
    await membership.join(other.url, signal)
    expect(membership.draining()).toEqual([node.hub])
    world.pass(14 * DAY_MS + 3_600_000 - 1)
    expect(membership.draining()).toEqual([node.hub])
    world.pass(1)
    expect(membership.draining()).toEqual([])
  })

  test('is emptied no more once the identity has ended', async () => {
    await membership.join(other.url, signal)
    await membership.deactivate(signal)
    expect(membership.draining()).toEqual([])
  })
})

describe('a previous home', () => {
  test('hears of key events while its mailbox is emptied, and of the end always', async () => {
    await membership.join(other.url, signal)
    await membership.rotate(signal)
    expect(toldOf(node.hub)).toBe(node.ctx.identity.log.seq)
    world.pass(15 * DAY_MS)
    const before = toldOf(node.hub)
    await membership.rotate(signal)
    expect(toldOf(node.hub)).toBe(before)
    await membership.deactivate(signal)
    expect(toldOf(node.hub)).toBe(node.ctx.identity.log.seq)
  })

  test('that does not answer keeps no other from hearing of them', async () => {
    const third = world.hub('http://third.test')
    await membership.join(other.url, signal)
    await membership.join(third.url, signal)
    node.hub.answers({ pushLog: () => Promise.reject(new Error('down')) })
    await membership.rotate(signal)
    expect([toldOf(node.hub), toldOf(other)]).toEqual([expect.any(Number), node.ctx.identity.log.seq])
    expect(toldOf(node.hub)).not.toBe(node.ctx.identity.log.seq)
  })

  test('that was left hears of the end', async () => {
    await membership.leave(undefined)
    await membership.join(other.url, signal)
    const before = pushes(node.hub)
    await membership.rotate(signal)
    expect(pushes(node.hub)).toBe(before)
    await membership.deactivate(signal)
    expect(pushes(node.hub)).toBe(before + 1)
  })
})
