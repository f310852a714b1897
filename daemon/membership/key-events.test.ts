/** The end of a key, and of an identity: what hubs hear of it, and what becomes of the mail. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { RegisterRequest } from '../hubs/hub.ts'
import { hubRow } from '../store/hubs.ts'
import type { TestNode } from '../testing/node.ts'
import { refusedWith } from '../testing/scripted-hub.ts'
import type { Membership } from './membership.ts'
import { HubsWorld } from './testing.ts'

let world: HubsWorld
let node: TestNode
let membership: Membership
const { signal } = new AbortController()

beforeEach(async () => {
  world = new HubsWorld()
  node = await world.member()
  ;({ membership } = world.opened)
  await membership.keepInSync(signal)
})
afterEach(() => world[Symbol.asyncDispose]())

const log = () => node.ctx.identity.log
const told = () => hubRow(node.ctx.store, node.hub.url)?.registeredSeq

describe('a rotation', () => {
  test('is told to the home at once, over a new session', async () => {
    node.hub.calls.length = 0
    expect(await membership.rotate(signal)).toBeUndefined()
    expect([told(), log().home]).toEqual([log().seq, node.hub.identity.aid])
    expect(node.hub.calls).toContain('dropSession')
  })

  test('says why the home does not know of it yet', async () => {
    const before = log().seq
    node.hub.answers({ register: () => Promise.reject(new Error('down')) })
    expect(await membership.rotate(signal)).toBe('down')
    expect([log().seq, told()]).toEqual([before + 1, before])
  })

  test('asks a hub for its time that has not told it, for three seconds, and no other', async () => {
    const asked = () => node.hub.calls.filter(call => call === 'refresh').length
    const before = asked()
    node.hub.knownTimeMs = world.clock.ms
    await membership.rotate(signal)
    expect(asked()).toBe(before)
    node.hub.knownTimeMs = undefined
    node.hub.answers({ refresh: () => new Promise(() => {}) })
    const seq = log().seq
    const rotating = membership.rotate(signal)
    await world.wait(2999)
    expect([asked(), log().seq]).toEqual([before + 1, seq])
    await world.wait(1)
    await rotating
    expect(log().seq).toBe(seq + 1)
  })

  test('of a node without a hub is its own', async () => {
    await membership.leave(undefined)
    const before = log().seq
    expect(await membership.rotate(signal)).toBeUndefined()
    expect(log().seq).toBe(before + 1)
  })
})

describe('the end of an identity', () => {
  test('is told to the home, and says why where it was not', async () => {
    node.hub.answers({ pushLog: () => Promise.reject(new Error('down')) })
    expect(await membership.deactivate(signal)).toBe('down')
    node.hub.answers({})
    expect(await membership.keepInSync(signal)).toBe(true)
    await world.opened.sync.run({ signal, profile: false })
    expect(told()).toBe(log().seq)
  })

  test('leaves nothing waiting: what was not sent has failed, and of what lies at a hub nobody knows', async () => {
    const other = await world.node('otto')
    const lying = node.delegate(other)
    await node.send()
    const waiting = node.delegate(other)
    await membership.deactivate(signal)
    const deliveryOf = (id: string) => node.messages(id).map(({ delivery }) => delivery)
    expect([deliveryOf(lying.id), deliveryOf(waiting.id)]).toEqual([['unknown'], ['failed']])
    for (const { id } of [lying, waiting])
      expect(node.thread(id)).toMatchObject({ state: 'failed', reason: 'this identity was deactivated' })
    expect(node.heard).toContainEqual({
      type: 'message',
      data: { interaction_id: waiting.id, peer: other.aid, state: 'failed' },
    })
  })
})

describe('a registration', () => {
  const register = () => world.opened.sync.run({ signal, profile: true })

  test('takes up the witness entry of the hub, and goes well without one', async () => {
    node.hub.answers({ fetchLog: () => Promise.reject(new Error('down')) })
    expect(await register()).toMatchObject({ keysStatus: 'stored' })
  })

  test('whose card names another address than the hub is repeated with that one, once', async () => {
    node.ctx.settings.change({ caps: ['text.count'] })
    const urls: unknown[] = []
    node.hub.answers({
      publicUrl: async () => 'https://public.test',
      register: async ({ card }: RegisterRequest) => {
        urls.push(card?.supportedInterfaces[0]?.url)
        return { keysStatus: 'stored', cardStatus: 'refused' }
      },
    })
    await register()
    expect(urls).toEqual([`${node.hub.url}/send`, 'https://public.test/send'])
  })

  test.each([
    ['is taken', 'stored', async () => 'https://public.test'],
    ['is refused by a hub that says no address', 'refused', () => Promise.reject(new Error('down'))],
  ])('whose card %s is not repeated', async (_, cardStatus, publicUrl) => {
    node.ctx.settings.change({ caps: ['text.count'] })
    let count = 0
    node.hub.answers({
      publicUrl,
      register: async () => {
        count += 1
        return { keysStatus: 'stored', cardStatus }
      },
    } as never)
    await register()
    expect(count).toBe(1)
  })

  test('of a log that is dated ahead of the hub says so, and rotates no key', async () => {
    node.ctx.identity.rotate(node.hub.identity.aid, world.clock.ms + 3_600_000)
    node.hub.answers({ register: () => Promise.reject(refusedWith('kel_ts_out_of_window')) })
    const { seq } = log()
    await expect(register()).rejects.toThrow(/dated 1 hours ahead of the hub/)
    expect(log().seq).toBe(seq)
  })
})

describe('a profile that changed', () => {
  test('is told to the hub, and the card follows with it', async () => {
    node.hub.calls.length = 0
    node.ctx.settings.change({ caps: ['text.count'] })
    await world.opened.sync.updateProfile(signal)
    expect(node.hub.calls.filter(call => /Profile|register/.test(call))).toEqual([
      'updateProfile',
      'register',
    ])
    node.hub.calls.length = 0
    node.ctx.settings.change({ readme: 'words' })
    await world.opened.sync.updateProfile(signal)
    expect(node.hub.calls.filter(call => /Profile|register/.test(call))).toEqual(['updateProfile'])
  })

  test('is published although the card has to wait', async () => {
    node.ctx.settings.change({ caps: ['text.count'] })
    node.hub.answers({ register: () => Promise.reject(new Error('down')) })
    await expect(world.opened.sync.updateProfile(signal)).resolves.toBeUndefined()
  })
})

describe('capabilities that are taken back', () => {
  const revoked = async (count: number) => {
    const peer = (n: number) => `A${String(n).padStart(43, 'A')}`
    for (let n = 0; n < count / 8; n++) {
      node.ctx.capabilities.topUp(peer(n))
      node.within(() => node.ctx.capabilities.revokeIssued(peer(n)))
    }
  }

  test('are told a thousand at a time, until the hub has them all', async () => {
    await revoked(1008)
    const told: number[] = []
    node.hub.answers({ revoke: async ids => void told.push(ids.length) })
    await membership.keepInSync(signal)
    await membership.keepInSync(signal)
    expect(told).toEqual([1000, 8])
  })

  test('are told again where the hub did not take them', async () => {
    await revoked(8)
    const epoch = node.ctx.keys.epoch
    node.hub.answers({ revoke: () => Promise.reject(refusedWith('rate_limited')) })
    expect(await membership.keepInSync(signal)).toBe(false)
    const told: number[] = []
    node.hub.answers({ revoke: async ids => void told.push(ids.length) })
    await membership.keepInSync(signal)
    expect([told, node.ctx.keys.epoch]).toEqual([[8], epoch])
  })
})
