import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pino from 'pino'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { witnessKel } from '../../protocol/identity/kel-witness.ts'
import { KeyStateNotice } from '../../protocol/identity/keyset.ts'
import { HubStopped } from '../hubs/hub.ts'
import { counted } from '../store/counters.ts'
import { DAY_MS, type TestNode, TestWorld } from '../testing/node.ts'
import { HUB_SEED, refusedWith } from '../testing/scripted-hub.ts'
import { openRelay } from './open.ts'
import type { Relay } from './relay.ts'

let world: TestWorld
let alice: TestNode
let bob: TestNode
let relay: Relay

beforeEach(async () => {
  world = new TestWorld()
  ;({ alice, bob } = await world.pair())
  relay = openRelay({ ...bob.ctx, timings: { ...bob.ctx.timings, backoffFirstMs: 5 } })
})
afterEach(async () => {
  await relay.stop()
  await world[Symbol.asyncDispose]()
})

const polls = () => bob.hub.calls.filter(call => call === 'poll').length
const aWhile = (ms = 30) => new Promise(resolve => setTimeout(resolve, ms))
/** A poll that is held until the node gives up. */
const isHeld: TestNode['hub']['poll'] = ({ signal }) =>
  new Promise((_, reject) => signal?.addEventListener('abort', () => reject(new Error('aborted'))))
const nothing = { envelopes: [], more: false, held: true, [Symbol.dispose]: () => {} }

describe('the running relay', () => {
  test('takes in what comes and confirms it', async () => {
    const { id } = alice.delegate(bob)
    await alice.send()
    relay.start()
    await expect.poll(() => bob.ctx.threads.findById(id)?.state).toBe('open')
    await expect.poll(() => world.post.carried).toEqual([])
    expect(world.post.dacks.size).toBe(1)
  })

  test('whose polls are ended at once, again and again, came second with its identity and stops', async () => {
    bob.hub.answers({ poll: async () => nothing })
    relay.start()
    await expect.poll(() => bob.hub.stopped).toMatch(/already runs on another machine/)
    const after = polls()
    await aWhile()
    expect(polls()).toBe(after)
  })

  test('pauses twice as long after each failure, and says why until the hub answers again', async () => {
    bob.hub.answers({ poll: () => Promise.reject(refusedWith('overloaded')) })
    relay.start()
    await expect.poll(polls).toBeGreaterThan(2)
    expect(bob.ctx.hub.state).toMatchObject({ state: 'offline' })
    await aWhile(200)
    // 5 + 10 + 20 + 40 + 80 ms at most, half of that at least
    expect(polls()).toBeLessThan(12)
    bob.hub.answers({ poll: async () => nothing })
    await expect.poll(() => bob.ctx.hub.state.state, { timeout: 3000 }).not.toBe('offline')
  })

  test.each<[string, TestNode['hub']['poll']]>([
    ['is away', () => Promise.reject(refusedWith('overloaded'))],
    ['holds no poll', async () => ({ ...nothing, held: false })],
  ])('looks at a hub that %s more often than a copy has to wait in peace', async (_, poll) => {
    const timings = { ...bob.ctx.timings, backoffFirstMs: 5, pollSettledMs: 50 }
    const looking = openRelay({ ...bob.ctx, timings })
    bob.hub.answers({ poll })
    looking.start()
    await aWhile(1000)
    await looking.stop()
    expect(polls()).toBeGreaterThan(15)
  })

  test('asks nothing of a hub that has stopped talking to it', async () => {
    bob.hub.stopped = 'another node has this identity'
    relay.start()
    await aWhile()
    expect(polls()).toBe(0)
  })

  test('ends at once although its poll is held', async () => {
    bob.hub.answers({ poll: isHeld })
    relay.start()
    await expect.poll(polls).toBeGreaterThan(0)
    const started = performance.now()
    await relay.stop()
    expect(performance.now() - started).toBeLessThan(1000)
    const after = polls()
    await aWhile()
    expect(polls()).toBe(after)
  })

  test.each([
    ['that a hub stopped does not log it as a failed poll', new HubStopped('moved'), false],
    ['whose poll fails logs that', refusedWith('overloaded'), true],
  ] as const)('%s, and goes on looking', async (_, error, says) => {
    const lines: string[] = []
    const log = pino({ level: 'debug' }, { write: (line: string) => lines.push(line) })
    const told = openRelay({ ...bob.ctx, log, timings: { ...bob.ctx.timings, backoffFirstMs: 5 } })
    bob.hub.answers({ poll: () => Promise.reject(error) })
    told.start()
    await expect.poll(polls).toBeGreaterThan(1)
    await told.stop()
    expect(lines.some(line => line.includes('poll failed'))).toBe(says)
  })
})

describe('a hub that is busy', () => {
  test('and answers at once instead of holding the poll is asked again seconds later', async () => {
    bob.hub.answers({ poll: async () => ({ ...nothing, held: false }) })
    relay.start()
    await expect.poll(polls).toBe(2)
    await aWhile(60)
    expect(polls()).toBe(2)
    expect(bob.hub.stopped).toBeUndefined()
  })
})

describe('a drain', () => {
  type Asked = Parameters<TestNode['hub']['poll']>[0]
  /** Mail for bob, one envelope a page, and how he asks for it. */
  async function pages(held = true): Promise<Asked[]> {
    for (let n = 0; n < 3; n++) alice.delegate(bob, `task ${n}`)
    await alice.send()
    const asked: Asked[] = []
    const poll: TestNode['hub']['poll'] = async given => {
      asked.push(given)
      const [next, ...more] = world.post.carried.filter(({ to }) => to === bob.aid)
      if (next === undefined) return { ...nothing, held }
      const { id, bytes, acceptedAtMs } = next
      return { ...nothing, held, envelopes: [{ id, source: [bytes], acceptedAtMs }], more: more.length > 0 }
    }
    bob.hub.answers({ poll })
    return asked
  }

  test('waits for the first page only, goes on behind what it has, and tells what it took', async () => {
    const asked = await pages()
    const ids = world.post.carried.map(({ id }) => id)
    expect(await relay.drain(bob.hub, 50_000)).toEqual({ taken: 3, held: true })
    expect(asked.map(({ waitSeconds, afterId }) => [waitSeconds, afterId])).toEqual([
      [50, undefined],
      [0, ids[0]],
      [0, ids[1]],
    ])
    expect(bob.hub.calls.filter(call => call === 'ack')).toHaveLength(3)
    expect(world.post.carried).toEqual([])
  })

  test('of a busy hub that gives mail is followed by the next at once', async () => {
    const asked = await pages(false)
    relay.start()
    await expect.poll(() => asked.filter(({ waitSeconds }) => waitSeconds > 0).length).toBe(1)
    expect(bob.hub.stopped).toBeUndefined()
    expect(await relay.drain(bob.hub, 0)).toEqual({ taken: 0, held: false })
  })
})

test('a file is read only where its message is taken: what is refused writes nothing', async () => {
  const path = join(alice.ctx.dir, '..', `notes-${process.pid}.txt`)
  writeFileSync(path, 'notes')
  const reads = vi.spyOn(bob.ctx.attachments, 'receive')
  const send = async () => {
    const id = alice.tasks.delegation.delegate({ to: bob.aid, task: 'read this', attach: [path] })
    await alice.send()
    await bob.receive()
    return [bob.ctx.threads.findById(id) !== undefined, reads.mock.calls.length]
  }
  bob.ctx.contacts.block(alice.aid, true)
  expect(await send()).toEqual([false, 0])
  bob.ctx.contacts.block(alice.aid, false)
  expect(await send()).toEqual([true, 1])
  rmSync(path)
})

describe('a message whose times do not fit', () => {
  test('is answered so, stored by nobody, and taken when it comes again with others', async () => {
    const { id } = alice.delegate(bob)
    alice.hub.skewMs = -4 * DAY_MS
    await alice.send()
    bob.hub.skewMs = 30 * DAY_MS
    await bob.receive()
    expect(bob.ctx.threads.findById(id)).toBeUndefined()
    expect(world.post.dacks.size).toBe(1)
    expect(bob.ctx.store.all('SELECT 1 FROM seen')).toEqual([])
  })
})

describe('the word of the hub on our own key state', () => {
  const differs = () => counted(bob.ctx.store, 'notice_differs')
  async function noticed(changes: Partial<KeyStateNotice['body']>, seed = HUB_SEED): Promise<number> {
    const { aid, log } = bob.ctx.identity
    const body = {
      aid,
      seq: log.seq,
      headDigest: log.headDigest,
      hubTs: world.clock.ms,
      hub: bob.hub.identity.aid,
      hubSeq: 0,
      ...changes,
    }
    const notice = KeyStateNotice.encode(KeyStateNotice.sign(seed, body))
    bob.hub.answers({ poll: async () => ({ ...nothing, notice }) })
    await bob.receive()
    return differs()
  }

  test('is compared at the same key state only, and counted where its hub signed that it differs', async () => {
    expect(await noticed({})).toBe(0)
    expect(await noticed({ seq: 9, headDigest: new Uint8Array(32) })).toBe(0)
    expect(await noticed({ headDigest: new Uint8Array(32) })).toBe(1)
    expect(await noticed({ headDigest: new Uint8Array(32) }, new Uint8Array(32).fill(3))).toBe(1)
  })

  test('that is no notice is passed over', async () => {
    bob.hub.answers({ poll: async () => ({ ...nothing, notice: new Uint8Array(3) }) })
    await bob.receive()
    expect(differs()).toBe(0)
  })
})

describe('a message under a key that its sender has retired since', () => {
  const GRACE_MS = 300_000

  /** Bob knows alice's next key when her message comes, which the hub took so long after the rotation. */
  async function late(ms: number): Promise<string> {
    const task = alice.delegate(bob)
    await world.settle()
    world.pass(1000)
    alice.say(task.id, 'words')
    await alice.send()
    alice.ctx.identity.rotate(alice.hub.identity.aid, world.clock.ms)
    const hub = { aid: world.post.log.aid, seq: 0, seed: HUB_SEED }
    const log = witnessKel(alice.ctx.identity.log, hub, world.clock.ms)
    bob.within(() => bob.ctx.peers.learn(log, undefined))
    for (const carried of world.post.carried) carried.acceptedAtMs = world.clock.ms + ms
    await bob.receive()
    return task.id
  }

  test('is taken where the hub took it in time', async () => {
    const id = await late(GRACE_MS - 1)
    expect(bob.messages(id).map(({ text }) => text)).toEqual(['count the words', 'words'])
    expect(counted(bob.ctx.store, 'retired_key')).toBe(0)
  })

  test('is refused five minutes after the rotation, and shown with that mark', async () => {
    const id = await late(GRACE_MS)
    expect(bob.messages(id)).toHaveLength(1)
    expect(counted(bob.ctx.store, 'retired_key')).toBe(1)
    const shown = bob.ctx.store.all('SELECT text FROM messages WHERE retired = 1')
    expect(shown).toEqual([{ text: 'words' }])
  })
})

describe('a message that does not bring the log of its sender', () => {
  beforeEach(async () => {
    const { id } = alice.delegate(bob)
    await world.settle()
    bob.say(id, 'yes')
    await world.settle()
    world.pass(DAY_MS)
    await alice.ask()
    alice.say(id, 'without my log')
  })
  const forget = () => bob.ctx.store.run('DELETE FROM peers')
  const arrived = () =>
    bob.ctx.store.get("SELECT 1 FROM messages WHERE text = 'without my log'") !== undefined

  test('asks no directory where that log is here, which would tell who wrote', async () => {
    await alice.send()
    const before = bob.hub.calls.length
    await bob.receive()
    expect(arrived()).toBe(true)
    expect(bob.hub.calls.slice(before)).not.toContain('bucket')
  })

  test('is taken with the log of the directory', async () => {
    forget()
    await alice.send()
    expect(alice.entry().introduces).toBeNull()
    await bob.receive()
    expect(arrived()).toBe(true)
  })

  test.each([
    ['has none', async () => ({ entries: [], partial: false, bits: 0 })],
    ['cannot be asked', () => Promise.reject(refusedWith('rate_limited'))],
  ])('comes again with the log where the directory %s', async (_, bucket) => {
    forget()
    bob.hub.answers({ bucket })
    await alice.send()
    await bob.receive()
    expect(arrived()).toBe(false)
    expect(counted(bob.ctx.store, 'sender_unknown')).toBe(1)
    world.pass(DAY_MS)
    await alice.ask()
    world.pass(DAY_MS)
    await alice.send()
    await bob.receive()
    expect(arrived()).toBe(true)
  })
})

describe('what cannot be opened', () => {
  test('is confirmed without being stored, and counted', async () => {
    world.post.take(bob.aid, new Uint8Array(9000).fill(7), world.clock.ms)
    for (let n = 0; n < 3; n++) await relay.drain(bob.hub, 0)
    expect(world.post.carried).toEqual([])
    expect(world.post.dacks.size).toBe(0)
    expect(bob.ctx.store.all('SELECT 1 FROM messages')).toEqual([])
    const counters = bob.ctx.store.all<{ name: string; value: number }>('SELECT name, value FROM counters')
    expect(counters.reduce((sum, { value }) => sum + value, 0)).toBeGreaterThan(0)
    expect(counted(bob.ctx.store, 'no such counter')).toBe(0)
  })
})
