/** Joining a hub, moving to another, and leaving. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { hubRow, keepHubLog } from '../store/hubs.ts'
import { lasting } from '../store/lasting.ts'
import { HOUR_MS, type TestNode } from '../testing/node.ts'
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
})
afterEach(() => world[Symbol.asyncDispose]())

const log = () => node.ctx.identity.log
const home = () => node.ctx.hub.home

describe('joining', () => {
  test('asks first, rotates to a hub that the log does not name, then registers', async () => {
    const before = log().seq
    const { hub, reply } = await membership.join(`${other.url}//`, signal)
    expect([hub, home(), reply.keysStatus]).toEqual([other, other, 'stored'])
    expect([log().home, log().seq]).toEqual([other.identity.aid, before + 1])
    expect(other.calls.filter(call => /Admission|register/.test(call))).toEqual([
      'checkAdmission',
      'register',
    ])
    await membership.join(other.url, signal)
    expect(log().seq).toBe(before + 1)
  })

  test('a hub that does not take this node leaves everything as it is', async () => {
    other.answers({ checkAdmission: () => Promise.reject(refusedWith('admission_required')) })
    const before = log().seq
    await expect(membership.join(other.url, signal)).rejects.toMatchObject({ code: 'admission_required' })
    expect([home(), log().seq]).toEqual([node.hub, before])
  })

  test('a hub whose clock is more than two hours ahead is refused before the log names it', async () => {
    other.skewMs = 2 * HOUR_MS + 1
    const before = log().seq
    await expect(membership.join(other.url, signal)).rejects.toThrow(/clock of the hub is 2 hours ahead/)
    expect([home(), log().seq]).toEqual([node.hub, before])
    other.skewMs = 2 * HOUR_MS
    expect((await membership.join(other.url, signal)).hub).toBe(other)
    expect(log().ts).toBe(world.clock.ms + 2 * HOUR_MS)
  })

  test('a hub whose clock went wrong since is joined again: the log names it already', async () => {
    await membership.join(other.url, signal)
    other.skewMs = 3 * HOUR_MS
    expect((await membership.join(other.url, signal)).hub).toBe(other)
  })

  test('a hub that spoke a newer wire before is refused', async () => {
    await membership.join(other.url, signal)
    Object.assign(other.identity, { wire: 2 })
    await expect(membership.join(other.url, signal)).rejects.toThrow(
      'this hub spoke wire 3 with this node before, which never goes back to wire 2',
    )
    expect(other.calls.filter(call => call === 'checkAdmission')).toHaveLength(1)
  })

  test('an ended identity joins nothing', async () => {
    await membership.deactivate(signal)
    await expect(membership.join(other.url, signal)).rejects.toMatchObject({ code: 'deactivated' })
  })

  test('gives every correspondent a new mailbox where the hub is another one, and none where it is the same', async () => {
    const { keys, store } = node.ctx
    const epoch = keys.epoch
    await membership.join(node.hub.url, signal)
    expect(keys.epoch).toEqual(epoch)
    await membership.join(other.url, signal)
    expect(keys.epoch).not.toEqual(epoch)
    expect(lasting(store, 'mailboxDue')).toBe(0)
  })

  test('another hub needs no answer of the one before', async () => {
    node.ctx.hub.unasked = 'not asked yet'
    await membership.join(other.url, signal)
    expect(node.ctx.hub.unasked).toBeUndefined()
    node.ctx.hub.unasked = 'not asked yet'
    await membership.join(other.url, signal)
    expect(node.ctx.hub.unasked).toBe('not asked yet')
  })
})

describe('leaving', () => {
  test('a hub that is not the home leaves the home', async () => {
    await membership.join(other.url, signal)
    expect(await membership.leave(`${node.hub.url}/`)).toMatchObject({
      hub: node.hub,
      url: node.hub.url,
      current: false,
    })
    expect([node.hub.calls.at(-1), home()]).toEqual(['deregister', other])
  })

  test('keeps that this identity has an account there', async () => {
    await membership.keepInSync(signal)
    await membership.leave(undefined)
    expect(hubRow(node.ctx.store, node.hub.url)).toMatchObject({ role: 'known' })
    expect([home(), node.ctx.hub.state.state]).toEqual([undefined, 'offline'])
  })
})

describe('a hub that this node stopped talking to', () => {
  const stops = (why: string | undefined) => {
    node.hub.stopped = why
  }

  test('is talked to again once it is found to be right', async () => {
    await membership.keepInSync(signal)
    stops('it speaks another wire')
    node.ctx.hub.noteContact('down')
    expect(await membership.lookAgain()).toBe(false)
    node.hub.answers({ refresh: async () => stops(undefined) })
    expect(await membership.lookAgain()).toBe(true)
    expect(node.ctx.hub.state).toEqual({ state: 'online' })
  })

  test('is still stopped where it does not answer', async () => {
    stops('it speaks another wire')
    node.hub.answers({ refresh: () => Promise.reject(new Error('down')) })
    expect(await membership.lookAgain()).toBe(false)
  })

  test('is heard of in the next round too', async () => {
    stops('it speaks another wire')
    node.ctx.hub.noteContact('down')
    node.hub.answers({ refresh: async () => stops(undefined) })
    expect(await membership.keepInSync(signal)).toBe(true)
    expect(node.ctx.hub.state).toEqual({ state: 'online' })
  })

  test('is none where none was stopped, or none is home', async () => {
    expect(await membership.lookAgain()).toBe(true)
    expect(node.hub.calls).toEqual([])
    await membership.leave(undefined)
    expect(await membership.lookAgain()).toBe(false)
  })
})

test('what a hub shows of itself is kept with each round', async () => {
  keepHubLog(node.ctx.store, { url: node.hub.url, log: new Uint8Array(1), bits: 9 })
  await membership.keepInSync(signal)
  expect(hubRow(node.ctx.store, node.hub.url)).toMatchObject({ bits: 0 })
})
