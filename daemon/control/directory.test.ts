/** Finding agents in the directory, and what a delegation is told of a recipient of whom nobody here knows anything. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { directoryHash, sealBox } from '../../protocol/identity/directory.ts'
import { incept, rotate } from '../../protocol/identity/kel.ts'
import { KEY_SET_LIFE_MS, KeySet } from '../../protocol/identity/keyset.ts'
import { agent, seeded } from '../../protocol/testing/agents.ts'
import { HOUR_MS, type TestNode, TestWorld } from '../testing/node.ts'
import { refusedWith } from '../testing/scripted-hub.ts'
import { directoryOf } from './parts.ts'

let world: TestWorld
let alice: TestNode
beforeEach(async () => {
  world = new TestWorld()
  alice = await world.node('alice')
})
afterEach(() => world[Symbol.asyncDispose]())

const stranger = agent('mistyped').aid
const warning = () => directoryOf(alice.ctx).unlistedWarning(alice.ctx.hub.home, stranger)
/** An agent whose key history names another hub than that of the node. */
function elsewhere() {
  const home = agent('hub').aid
  const random = seeded('elsewhere')
  const [seed, nextSeed, afterSeed] = [random(32), random(32), random(32)]
  const ts = world.clock.ms - HOUR_MS
  const first = incept({ seed, nextSeed, ts: ts - HOUR_MS })
  const log = rotate(first, { seed: nextSeed, nextSeed: afterSeed, ts, home })
  const { keySet } = agent('elsewhere')
  const body = { ...keySet.body, aid: log.aid, kelSeq: 1, ts, exp: ts + KEY_SET_LIFE_MS }
  const kept = { kel: [...log.events], keySet: KeySet.sign(nextSeed, body), notice: null }
  const entry = { h: directoryHash(log.aid), box: sealBox(log.aid, random(32), kept) }
  return { aid: log.aid, home, entry }
}

const empty = { entries: [], partial: false, bits: 0 }

test('an agent whom the directory does not list is warned of', async () => {
  alice.hub.answers({ bucket: async () => empty })
  expect(await warning()).toMatch(/does not list it; check it.* svc visibility federated/)
})

test.each([
  ['is incomplete', async () => ({ ...empty, partial: true })],
  ['is a refusal', () => Promise.reject(refusedWith('rate_limited'))],
  ['does not come', () => Promise.reject(Object.assign(new Error('x'), { code: 'ECONNREFUSED' }))],
])('nobody is warned of where the answer of the directory %s', async (_, bucket) => {
  alice.hub.answers({ bucket })
  expect(await warning()).toBeUndefined()
})

describe('an agent that is looked for by its AID', () => {
  const nobody = { agents: [], searched: 'all_hubs' }
  const find = (query: string) => directoryOf(alice.ctx).find(alice.hub, { query })
  const listing = (...entries: { h: Uint8Array; box: Uint8Array }[]) =>
    alice.hub.answers({ bucket: async () => ({ ...empty, entries }) })

  test('is found with the hub where it lives, and no hub reads its AID', async () => {
    const { aid, entry, home } = elsewhere()
    listing(entry)
    const hub = alice.hub.identity.aid
    const found = { aid, name: '', contact: null, summary: '', caps: [], hub, home }
    const unknown = { registered_at: null, last_seen: null, quiet: false }
    expect(await find(` ${aid} `)).toEqual({ agents: [{ ...found, ...unknown }], searched: 'all_hubs' })
    expect(alice.hub.calls).not.toContain('listAgents')
  })

  test('names no other hub where it lives at this one', async () => {
    const bob = await world.node('bob')
    const { agents } = await find(bob.aid)
    expect(agents).toMatchObject([{ aid: bob.aid, hub: alice.hub.identity.aid }])
    expect(agents[0]).not.toHaveProperty('home')
  })

  test('is not listed where every hub answered, and may be where one did not', async () => {
    listing()
    expect(await find(stranger)).toEqual(nobody)
    alice.hub.answers({ bucket: async () => ({ ...empty, partial: true }) })
    expect(await find(stranger)).toEqual({ ...nobody, partial: true })
    listing({ h: directoryHash(stranger), box: new Uint8Array(64) })
    expect(await find(stranger)).toEqual({ ...nobody, unusable: true })
  })

  test('is not called unlisted where the own hub refuses, or gives no answer', async () => {
    alice.hub.answers({ bucket: () => Promise.reject(refusedWith('rate_limited')) })
    await expect(find(stranger)).rejects.toMatchObject({ code: 'hub_refused' })
    alice.hub.answers({
      bucket: () => Promise.reject(Object.assign(new Error('x'), { code: 'ECONNREFUSED' })),
    })
    await expect(find(stranger)).rejects.toMatchObject({ code: 'hub_unreachable' })
  })

  test('is left out where it is this node, and others are asked for', async () => {
    const asked = { query: alice.aid, others: true }
    expect(await directoryOf(alice.ctx).find(alice.hub, asked)).toEqual(nobody)
  })
})

test('words are looked for among the agents of the own hub, one of which may have moved', async () => {
  const { aid, home } = elsewhere()
  const listed = { name: 'x', caps: [], summary: '', lastSeenMs: null, registeredAtMs: 0, quiet: false }
  const own = { ...listed, aid: stranger, home: alice.hub.identity.aid }
  alice.hub.answers({ listAgents: async () => ({ agents: [own, { ...listed, aid, home }] }) })
  const found = await directoryOf(alice.ctx).find(alice.hub, { query: 'x' })
  expect(found).toMatchObject({ searched: 'own_hub', agents: [{ aid: stranger }, { aid, home }] })
  expect(found.agents[0]).not.toHaveProperty('home')
})
