/** A look now and then at everything that the home should know or tell. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { incept } from '../../protocol/identity/kel.ts'
import { KeySet } from '../../protocol/identity/keyset.ts'
import { HubStopped } from '../hubs/hub.ts'
import type { TestNode } from '../testing/node.ts'
import { refusedWith, type ScriptedHub } from '../testing/scripted-hub.ts'
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
})
afterEach(() => world[Symbol.asyncDispose]())

const hub = () => node.ctx.hub

describe('a round', () => {
  const round = () => membership.keepInSync(signal)
  const serves = (log: { events: readonly unknown[] }, at: ScriptedHub = node.hub) =>
    at.answers({ fetchAgent: async () => ({ log: [...log.events], keySet: new Uint8Array(0) }) as never })

  test('registers again where the hub came back from a backup and knows less', async () => {
    await round()
    await round()
    const registrations = () => node.hub.calls.filter(call => call === 'register').length
    expect(registrations()).toBe(1)
    world.post.listed.delete(node.aid)
    await round()
    expect([registrations(), world.post.listed.has(node.aid)]).toEqual([2, true])
  })

  test('that finds everything as it was changes nothing in the store', async () => {
    const changes = () => node.ctx.store.get<{ n: number }>('SELECT total_changes() AS n')?.n
    for (let n = 0; n < 3; n++) await round()
    const before = changes()
    await round()
    expect(changes()).toBe(before)
  })

  test.each([
    [
      'another history',
      () => {
        const other = incept({
          seed: new Uint8Array(32).fill(1),
          nextSeed: new Uint8Array(32).fill(2),
          ts: 1,
        })
        return { events: [other.events[0]] }
      },
    ],
    ['nothing that can be read', () => ({ events: [new Uint8Array(1)] })],
  ])('proves nothing by %s of somebody else', async (_, made) => {
    serves(made() as never)
    await round()
    expect(hub().oldCopy).toBeUndefined()
  })

  test('with a hub that serves what is no agent at all goes on', async () => {
    node.hub.answers({ fetchAgent: () => Promise.reject(refusedWith('unknown_aid')) })
    expect(await round()).toBe(true)
    node.hub.answers({ fetchAgent: () => Promise.reject(refusedWith('rate_limited')) })
    expect(await round()).toBe(false)
  })

  test('publishes the next key set where a hub holds an older one', async () => {
    await round()
    const { identity, keys } = node.ctx
    const old = KeySet.encode(keys.set as KeySet)
    keys.ensureSet(identity.log, identity.seed, { bytes: 512 * 1024, perDay: 5 }, 5)
    keys.confirm(keys.set as KeySet)
    node.hub.answers({ fetchAgent: async () => ({ log: [...identity.log.events], keySet: old }) })
    await round()
    expect(node.hub.calls).toContain('publishKeys')
  })

  test('registers nothing once the hub has shown that the copy is old', async () => {
    const { identity, keys } = node.ctx
    const own = keys.set as KeySet
    const newer = KeySet.encode(KeySet.sign(identity.seed, { ...own.body, setSeq: own.body.setSeq + 1 }))
    node.hub.answers({ fetchAgent: async () => ({ log: [...identity.log.events], keySet: newer }) })
    expect(await round()).toBe(true)
    expect(hub().oldCopy).toMatch(/it is an old copy/)
    expect(node.hub.calls).not.toContain('register')
  })

  test('looks at nothing where the copy is old', async () => {
    hub().oldCopy = 'it is an old copy'
    expect(await round()).toBe(true)
    expect(node.hub.calls).toEqual([])
  })

  test('asks previous hubs that call the key retired, and no others', async () => {
    const other = world.hub('http://other.test')
    await membership.join(other.url, signal)
    await round()
    node.hub.calls.length = 0
    await round()
    expect(node.hub.calls).not.toContain('fetchAgent')
    hub().retiredAt.add(node.hub.url)
    await round()
    expect([node.hub.calls.includes('fetchAgent'), hub().retiredAt.size]).toEqual([true, 0])
    expect(hub().oldCopy).toBeUndefined()
  })

  test('with a previous hub that does not answer is one all the same', async () => {
    const other = world.hub('http://other.test')
    await membership.join(other.url, signal)
    hub().retiredAt.add(node.hub.url)
    node.hub.answers({ fetchAgent: () => Promise.reject(new Error('down')) })
    expect(await round()).toBe(true)
    expect(hub().retiredAt.size).toBe(1)
  })

  test('that failed says why, but for a hub that keeps this identity out', async () => {
    node.hub.answers({ refresh: () => Promise.reject(new Error('down')) })
    expect(await round()).toBe(false)
    expect(hub().state).toMatchObject({ reason: 'down' })
    hub().noteContact('kept out', true)
    expect(await round()).toBe(false)
    expect(hub().state).toMatchObject({ keptOut: true })
  })

  test('with a hub that turns out to be another one is not repeated', async () => {
    node.hub.answers({
      refresh: async () => {
        node.hub.halt('another hub')
        throw new HubStopped('another hub')
      },
    })
    expect(await round()).toBe(true)
  })
})
