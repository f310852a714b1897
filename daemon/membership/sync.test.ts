import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { KEY_RENEWAL_MS, KeySet } from '../../protocol/identity/keyset.ts'
import { systemTimers } from '../../protocol/timers.ts'
import { HubStopped, presented, type RegisterRequest } from '../hubs/hub.ts'
import { PowSolver } from '../hubs/pow.ts'
import { Publication } from '../hubs/publication.ts'
import { hubRow, noteRegistered, writeHome } from '../store/hubs.ts'
import { HOUR_MS, type TestNode, TestWorld } from '../testing/node.ts'
import { refusedWith } from '../testing/scripted-hub.ts'
import { openMembership } from './open.ts'
import { OwnLog } from './own-log.ts'
import type { Sync } from './sync.ts'

let world: TestWorld
let node: TestNode
let sync: Sync
const { signal } = new AbortController()

beforeEach(async () => {
  world = new TestWorld()
  node = await world.node('nora')
  writeHome(node.ctx.store, presented(node.hub), false, world.clock.ms)
  ;({ sync } = opened())
})
afterEach(() => world[Symbol.asyncDispose]())

const opened = () =>
  openMembership(node.ctx, {
    identity: node.ctx.identity,
    connections: undefined as never,
    now: node.ctx.now,
    random: node.ctx.random,
    timers: systemTimers,
    spoolFolder: node.ctx.attachments.folder,
    publication: new Publication(),
  })

const run = (profile = false) => sync.run({ signal, profile })
const known = () => noteRegistered(node.ctx.store, node.hub.url, node.ctx.identity.log.seq)
const registeredSeq = () => hubRow(node.ctx.store, node.hub.url)?.registeredSeq
const count = (call: string) => node.hub.calls.filter(one => one === call).length
const registered = { keysStatus: 'stored', cardStatus: 'none' }

describe('bringing the hub up to date', () => {
  test('registers once for each key event, then says nothing more', async () => {
    expect(await run()).toEqual(registered)
    expect(registeredSeq()).toBe(node.ctx.identity.log.seq)
    expect(node.ctx.hub.state).toEqual({ state: 'online' })
    expect(await run()).toBeUndefined()
    expect(count('register')).toBe(1)
    node.ctx.identity.rotate(node.hub.identity.aid, world.clock.ms + 1)
    await run()
    expect(count('register')).toBe(2)
    expect(count('publishKeys')).toBe(0)
  })

  test('carries the chosen visibility to an account that is new there, and to no other', async () => {
    const said: string[] = []
    const account = { keysStatus: 'stored', cardStatus: 'none' }
    node.hub.answers({
      register: async () => ({ ...account, probationUntilMs: world.clock.ms + HOUR_MS }),
      setVisibility: async visibility => void said.push(visibility),
    })
    await run()
    expect(said).toEqual([])
    node.ctx.settings.change({ visibility: 'public' })
    await run(true)
    expect(said).toEqual(['public'])
    node.hub.answers({ register: async () => account })
    await run(true)
    expect(said).toEqual(['public'])
  })

  test('registers again when the profile may be another', async () => {
    await run()
    await run(true)
    expect(count('register')).toBe(2)
  })

  test('publishes a renewed set alone, above the one that the hub holds', async () => {
    known()
    world.pass(KEY_RENEWAL_MS)
    let published: [number, number] | undefined
    node.hub.answers({
      publishKeys: async (bytes, previous) => {
        published = [KeySet.decode(bytes).body.setSeq, previous]
      },
    })
    await run()
    expect(count('register')).toBe(0)
    expect(published).toEqual([2, 1])
    expect(node.ctx.keys.isConfirmed).toBe(true)
    await run()
    expect(count('publishKeys')).toBe(1)
  })

  test('goes above the set that the hub says it holds', async () => {
    known()
    world.pass(KEY_RENEWAL_MS)
    const seqs: [number, number][] = []
    node.hub.answers({
      publishKeys: async (bytes, previous) => {
        seqs.push([KeySet.decode(bytes).body.setSeq, previous])
        if (seqs.length === 1) throw refusedWith('keys_rollback', { stored_seq: 40 })
      },
    })
    await run()
    expect(seqs).toEqual([
      [2, 1],
      [41, 40],
    ])
    expect(node.ctx.keys.isConfirmed).toBe(true)
  })

  test('of an ended identity is one push of its log', async () => {
    node.ctx.identity.deactivate(world.clock.ms + 1)
    await run()
    await run()
    expect([count('pushLog'), count('register')]).toEqual([1, 0])
    expect(registeredSeq()).toBe(node.ctx.identity.log.seq)
  })

  test('one call comes after another', async () => {
    let open = 0
    let most = 0
    node.hub.answers({
      register: async () => {
        most = Math.max(most, ++open)
        await Promise.resolve()
        open -= 1
        return registered
      },
    })
    await Promise.all([run(true), run(true), run(true)])
    expect(most).toBe(1)
  })
})

describe('a refused registration', () => {
  test('for its time is made good by one rotation at the time of the hub, and by no second one', async () => {
    node.hub.skewMs = HOUR_MS
    const seqs: number[] = []
    node.hub.answers({
      register: async ({ log }: RegisterRequest) => {
        seqs.push(log.seq)
        throw refusedWith('kel_ts_out_of_window')
      },
    })
    const before = node.ctx.identity.log.seq
    await expect(run()).rejects.toMatchObject({ code: 'kel_ts_out_of_window' })
    expect(seqs).toEqual([before, before + 1])
    expect(node.ctx.identity.log.ts).toBe(world.clock.ms + HOUR_MS)
    expect(node.ctx.hub.state).toMatchObject({ state: 'offline' })
    expect(node.hub.calls).toContain('dropSession')
  })

  test('of a hub that lies far ahead is no reason to rotate', async () => {
    node.hub.skewMs = 2 * HOUR_MS + 1
    node.hub.answers({ register: () => Promise.reject(refusedWith('kel_ts_out_of_window')) })
    const before = node.ctx.identity.log.seq
    await expect(run()).rejects.toMatchObject({ code: 'kel_ts_out_of_window' })
    expect(node.ctx.identity.log.seq).toBe(before)
  })

  test('that asks for work gets it, and the next one needs none', async () => {
    const asked: (RegisterRequest['pow'] | undefined)[] = []
    node.hub.answers({
      register: async ({ pow }: RegisterRequest) => {
        asked.push(pow)
        if (pow !== undefined) return registered
        const challenge = { seed: 'A'.repeat(43), bits: 4, not_after: world.clock.ms + HOUR_MS }
        throw refusedWith('pow_required', { challenge })
      },
    })
    await run()
    expect(asked).toHaveLength(2)
    expect(asked[1]?.nonce).toBeDefined()
    expect(new PowSolver(node.ctx.store, node.ctx).kept(node.hub.identity.aid)).toBeUndefined()
  })

  test('is repeated five times at most', async () => {
    let stored = 10
    node.hub.answers({
      register: () => Promise.reject(refusedWith('keys_rollback', { stored_seq: stored++ })),
    })
    await expect(run()).rejects.toMatchObject({ code: 'keys_rollback' })
    expect(count('register')).toBe(5)
  })

  test.each([
    ['a refusal that nothing helps', () => refusedWith('admission_required')],
    ['a rollback without a number', () => refusedWith('keys_rollback')],
    ['a hub that is not there', () => new Error('down')],
  ])('%s leaves the node offline, with the reason', async (_, error) => {
    node.hub.answers({ register: () => Promise.reject(error()) })
    await expect(run()).rejects.toThrow()
    expect(count('register')).toBe(1)
    expect(node.ctx.hub.state).toMatchObject({ state: 'offline', reason: expect.any(String) })
    expect(registeredSeq()).toBeNull()
  })
})

describe('a round with the hub', () => {
  const membership = () => opened().membership

  test('that ends well is not repeated soon; one that failed is', async () => {
    expect(await membership().keepInSync(signal)).toBe(true)
    node.hub.answers({ refresh: () => Promise.reject(new Error('down')) })
    expect(await membership().keepInSync(signal)).toBe(false)
    expect(node.ctx.hub.state).toMatchObject({ state: 'offline', reason: 'down' })
  })

  test.each(['ts_stale', 'replayed', 'rate_limited', 'unauthorized'])(
    'asks again where a copy that looks for its original is refused (%s)',
    async code => {
      node.ctx.hub.unsettled = 'copied'
      Object.assign(node.ctx.timings, { settleMs: 1 })
      const seq = node.ctx.keys.set?.body.setSeq
      const answers = [() => Promise.reject(refusedWith(code)), async () => 'came_second' as const]
      const mail = { watch: () => (answers.shift() as () => Promise<'came_second'>)(), drain: async () => 0 }
      await membership().settle(mail, signal)
      expect(node.ctx.hub.oldCopy).toMatch('already runs')
      expect(node.ctx.keys.set?.body.setSeq).toBe(seq)
    },
  )

  test('goes on where the hub does not know a restored identity any more', async () => {
    node.ctx.hub.unsettled = 'restored'
    node.hub.answers({
      fetchAgent: async () => undefined,
      fetchLog: async () => [...node.ctx.identity.log.events],
    })
    const mail = { watch: () => Promise.reject(refusedWith('unauthorized')), drain: async () => 0 }
    await membership().settle(mail, signal)
    expect([node.ctx.hub.unsettled, node.ctx.hub.oldCopy]).toEqual([undefined, undefined])
  })

  test('with a hub that the node stopped talking to has nothing to repeat', async () => {
    node.hub.answers({ refresh: () => Promise.reject(new HubStopped('another hub')) })
    node.hub.halt('another hub')
    expect(await membership().keepInSync(signal)).toBe(true)
  })

  test('finds that this machine is an old copy, and signs nothing more', async () => {
    const newer = node.ctx.identity.log
    const events = [...newer.events]
    node.ctx.identity.rotate(node.hub.identity.aid, world.clock.ms + 1)
    const later = [...node.ctx.identity.log.events]
    const old = { ...node.ctx, identity: { ...node.ctx.identity, aid: node.aid, log: newer } }
    expect(events.length).toBeLessThan(later.length)
    node.hub.answers({
      fetchAgent: async () => ({ log: later, keySet: new Uint8Array(0) }),
    })
    const why = await new OwnLog(old as never, node.ctx).compareWithHub(node.hub)
    expect(why).toContain('it is an old copy')
    expect(node.hub.stopped).toBe(why)
  })

  test('finds another key set under the number of its own, which a newer copy has made', async () => {
    const { identity, keys } = node.ctx
    expect(await new OwnLog(node.ctx, node.ctx).compareWithHub(node.hub)).toBeUndefined()
    const own = (keys.set as KeySet).body
    const other = KeySet.sign(identity.seed, { ...own, ts: own.ts + 1 })
    node.hub.answers({
      fetchAgent: async () => ({ log: [...identity.log.events], keySet: KeySet.encode(other) }),
    })
    expect(await new OwnLog(node.ctx, node.ctx).compareWithHub(node.hub)).toMatch(
      /another one under that number: it is an old copy/,
    )
  })

  test('leaves a hub, which is forgotten only when it agreed', async () => {
    node.hub.answers({ deregister: () => Promise.reject(refusedWith('unauthorized')) })
    await expect(membership().leave(undefined)).rejects.toMatchObject({ code: 'unauthorized' })
    expect(node.ctx.hub.last).toBe(node.hub)
    node.hub.answers({})
    expect(await membership().leave(`${node.hub.url}///`)).toMatchObject({ url: node.hub.url, current: true })
    expect(node.ctx.hub.last).toBeUndefined()
    expect(hubRow(node.ctx.store, node.hub.url)).toBeUndefined()
    await expect(membership().leave(undefined)).rejects.toMatchObject({ code: 'no_hub' })
  })

  test('takes back what is to be taken back, and makes a new mailbox where the list is full', async () => {
    known()
    node.ctx.capabilities.topUp('A'.repeat(44))
    node.within(() => node.ctx.capabilities.revokeIssued('A'.repeat(44)))
    const epoch = node.ctx.keys.epoch
    const told: number[] = []
    node.hub.answers({
      revoke: async ids => {
        told.push(ids.length)
        throw refusedWith('revocation_list_full')
      },
    })
    await membership().keepInSync(signal)
    expect(told).toEqual([8])
    expect(node.ctx.keys.epoch).not.toEqual(epoch)
    node.hub.answers({ revoke: async ids => void told.push(ids.length) })
    await membership().keepInSync(signal)
    expect(told).toEqual([8])
  })
})

describe('contact with the hub', () => {
  test('is lost once and found again, also while the node registers', () => {
    const { hub } = node.ctx
    expect(hub.noteContact(undefined)).toBe(false)
    expect(hub.noteContact('down')).toBe(true)
    expect(hub.noteContact('down')).toBe(false)
    expect(hub.state).toEqual({ state: 'offline', reason: 'down' })
    const registering = hub.beginRegistering()
    registering.progress(0.5)
    expect(hub.noteContact(undefined)).toBe(false)
    expect(hub.state).toEqual({
      state: 'registering',
      powProgress: 0.5,
      powBeganAt: expect.any(Number),
    })
    registering.end('not today')
    registering.progress(0.6)
    expect(hub.state).toEqual({ state: 'online', reason: 'not today' })
    const told = node.heard.filter(({ type }) => type === 'hub').map(({ data }) => data['state'])
    expect(told).toEqual(['online', 'offline', 'online'])
  })

  test('that is found again, as after being unblocked, leaves no reason of a registration refused before', () => {
    const { hub } = node.ctx
    hub.noteContact(undefined)
    hub.beginRegistering().end('the operator admits nobody')
    expect(hub.state).toEqual({ state: 'online', reason: 'the operator admits nobody' })
    hub.noteContact('refused')
    expect(hub.state).toEqual({ state: 'offline', reason: 'refused' })
    hub.noteContact(undefined)
    expect(hub.state).toEqual({ state: 'online' })
  })

  test('that was there is still there when a proof of work is cancelled', async () => {
    const { hub } = node.ctx
    hub.noteContact(undefined)
    const cancelled = new AbortController()
    const challenge = { seed: 'A'.repeat(43), bits: 26, not_after: world.clock.ms + HOUR_MS }
    node.hub.answers({
      register: async () => {
        setTimeout(() => cancelled.abort(), 50)
        throw refusedWith('pow_required', { challenge })
      },
    })
    const registered = sync.run({ signal: cancelled.signal, profile: true })
    await expect.poll(() => hub.state.state).toBe('registering')
    await expect(registered).rejects.toThrow()
    expect(hub.state.state).toBe('online')
  })

  test('ends with the identity; what was the home is still known', () => {
    node.ctx.identity.deactivate(world.clock.ms + 1)
    expect([node.ctx.hub.home, node.ctx.hub.last]).toEqual([undefined, node.hub])
    node.hub.skewMs = HOUR_MS
    expect(node.ctx.hubNow()).toBe(world.clock.ms)
  })
})
