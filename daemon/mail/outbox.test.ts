import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { fromBase64url } from '../../protocol/encoding/bytes.ts'
import { Dack, type DackCode, dackCodes, dackHandle, sealDack } from '../../protocol/mail/dack.ts'
import { kinds } from '../../protocol/mail/payload.ts'
import { agent } from '../../protocol/testing/agents.ts'
import { deliveryView } from '../control/views.ts'
import { HubStopped } from '../hubs/hub.ts'
import type { PeerBook } from '../peers/peers.ts'
import { sealedCarriers } from '../sealed/open.ts'
import { counted } from '../store/counters.ts'
import { ACCESS_REFUSED } from '../store/outbox.ts'
import { outboxSize } from '../store/outbox-sizes.ts'
import type { Interaction } from '../store/threads.ts'
import { DAY_MS, HOUR_MS, type TestNode, TestWorld } from '../testing/node.ts'
import { refusedWith } from '../testing/scripted-hub.ts'
import { mailParts, openOutbox } from './open.ts'
import type { Outbox } from './outbox.ts'

let world: TestWorld
let alice: TestNode
let bob: TestNode
let task: Interaction

beforeEach(async () => {
  world = new TestWorld()
  ;({ alice, bob } = await world.pair())
  task = alice.delegate(bob)
})
afterEach(() => world[Symbol.asyncDispose]())

const wrote = (text: string) => alice.say(task.id, text).key
const OVERDUE = 'not known to have arrived within 28 days, after which it is tried no more'
const delivery = (message: number) => alice.ctx.threads.message(message)
const first = () => alice.messages(task.id)[0]?.key ?? -1
const refuses = (code: string, members = {}, retryAfterMs?: number) =>
  alice.hub.answers({ send: () => Promise.reject(refusedWith(code, members, retryAfterMs)) })

test('what gets through to a hub that was away lets mail be fetched at once', async () => {
  const woken = vi.spyOn(alice.ctx.wakers.relay, 'wake')
  alice.ctx.hub.noteContact('away')
  await alice.send()
  expect(alice.entry().state).toBe('at_hub')
  expect(woken).toHaveBeenCalledTimes(1)
  alice.ctx.hub.noteContact(undefined)
  wrote('more')
  await alice.send()
  expect(woken).toHaveBeenCalledTimes(1)
})

test('what does not get through is said in the log, once for each reason', async () => {
  const said = vi.spyOn(alice.ctx.log, 'info')
  for (const code of ['hub_busy', 'hub_busy', 'mailbox_full']) {
    refuses(code)
    await alice.send()
    world.pass(DAY_MS)
  }
  const lines = said.mock.calls.filter(([, line]) => `${line}`.startsWith('not sent'))
  expect(lines.map(([given]) => (given as unknown as { attempt: number }).attempt)).toEqual([1, 3])
})

describe('a message that the hub took', () => {
  test('is at the hub, with its receipt id, its expiry and a time for the first question', async () => {
    await alice.send()
    const entry = alice.entry()
    expect(entry).toMatchObject({ state: 'at_hub', rid: 'rid-1', attempts: 0, lastError: null })
    expect(entry.expiresAt).toBeGreaterThan(world.clock.ms)
    expect(entry.nextAt - world.clock.ms).toBeGreaterThanOrEqual(10_000)
    expect(entry.nextAt - world.clock.ms).toBeLessThanOrEqual(20_000)
    expect(delivery(first()).delivery).toBe('at_hub')
    expect(alice.heard).toContainEqual({
      type: 'delivery',
      data: { interaction_id: task.id, number: 1, state: 'at_hub' },
    })
  })

  test('says so where its recipient has been away for long', async () => {
    alice.hub.answers({ send: async () => ({ rid: 'r', duplicate: false, isQuiet: true }) })
    await alice.send()
    expect(deliveryView(alice.ctx.store, delivery(first()))).toMatchObject({
      state: 'at_hub',
      reason: 'the recipient has collected no mail for an hour or more, as the hub says; it waits there',
    })
  })

  test('is not touched again when it was settled while it was on its way', async () => {
    alice.hub.answers({
      send: async () => {
        alice.within(() => alice.ctx.threads.setDelivery(first(), 'delivered'))
        return { rid: 'late', duplicate: false }
      },
    })
    await alice.send()
    expect(delivery(first()).delivery).toBe('delivered')
    expect(outboxSize(alice.ctx.store)).toBe(0)
  })

  test('is sent by a session at first contact, and under a capability once one is held', async () => {
    await world.settle()
    bob.say(task.id, 'yes')
    await world.settle()
    wrote('thanks')
    await world.settle()
    expect(alice.hub.sent.map(({ credential }) => credential)).toEqual(['session', 'capability'])
    expect(bob.hub.sent.at(-1)?.credential).toBe('capability')
  })
})

describe('order', () => {
  test('one message an interaction is sent at a time, the next only after it', async () => {
    const second = wrote('more')
    refuses('hub_busy')
    await alice.send()
    expect(alice.hub.sent).toHaveLength(1)
    expect(alice.entry(second)).toMatchObject({ state: 'queued', attempts: 0 })
    alice.hub.answers({})
    world.pass(10_000)
    await alice.send()
    expect(alice.hub.sent).toHaveLength(3)
  })
})

describe('the running outbox', () => {
  /** Sends that stay under way until they are let go, newest last. */
  function held(): (() => void)[] {
    const going: (() => void)[] = []
    alice.hub.answers({
      send: () =>
        new Promise(resolve => going.push(() => resolve({ rid: `rid-${going.length}`, duplicate: false }))),
    })
    return going
  }
  const counts = (going: unknown[], n: number) => expect.poll(() => going.length, { interval: 5 }).toBe(n)

  test('sends four interactions side by side, and the fifth when one is done', async () => {
    for (let n = 0; n < 4; n++) alice.delegate(bob, `task ${n}`)
    wrote('second of the first task')
    const going = held()
    const outbox = openOutbox(alice.ctx)
    outbox.start()
    await counts(going, 4)
    await new Promise(resolve => setTimeout(resolve, 30))
    expect(going).toHaveLength(4)
    for (const letGo of going) letGo()
    await counts(going, 6)
    for (const letGo of going) letGo()
    await outbox.stop()
    expect(alice.ctx.store.all("SELECT 1 FROM outbox WHERE state = 'queued'")).toEqual([])
  })

  test('a hub that does not answer ours takes one lane, and none from what goes elsewhere', async () => {
    const carol = await world.node('carol')
    await alice.send()
    const elsewhere = Array.from({ length: 40 }, (_, n) => alice.delegate(carol, `elsewhere ${n}`).id)
    const here = Array.from({ length: 4 }, (_, n) => alice.delegate(bob, `here ${n}`).id)
    const going: string[] = []
    const over = Promise.withResolvers<void>()
    alice.hub.answers({
      send: async ({ recipient }) => {
        going.push(recipient)
        await over.promise
        throw refusedWith('home_unreachable', {}, HOUR_MS)
      },
    })
    const home = agent('other hub').aid
    const find: PeerBook['find'] = aid => {
      const found = alice.ctx.peers.find(aid)
      return aid === carol.aid ? ({ ...found, log: { home } } as ReturnType<PeerBook['find']>) : found
    }
    const outbox = openOutbox({
      ...alice.ctx,
      peers: Object.assign(Object.create(alice.ctx.peers), { find }),
    })
    outbox.start()
    await expect.poll(() => going.length, { timeout: 10_000 }).toBe(5)
    expect(going.toSorted()).toEqual([carol.aid, bob.aid, bob.aid, bob.aid, bob.aid].toSorted())
    expect([elsewhere.length, here.length]).toEqual([40, 4])
    const stopped = outbox.stop()
    over.resolve()
    await stopped
  })

  test('asks the hub one question at a time, and starts nothing at a hub that has stopped', async () => {
    await alice.send()
    world.pass(60_000)
    let asked = 0
    const answer = Promise.withResolvers<[]>()
    alice.hub.answers({
      deliveryStates: () => {
        asked++
        return answer.promise
      },
    })
    const outbox = openOutbox(alice.ctx)
    outbox.start()
    await expect.poll(() => asked).toBe(1)
    world.pass(300_000)
    alice.ctx.wakers.outbox.wake()
    await new Promise(resolve => setTimeout(resolve, 20))
    expect(asked).toBe(1)
    answer.resolve([])
    await expect.poll(() => asked).toBe(2)
    alice.hub.stopped = 'another node has this identity'
    const going = held()
    wrote('not now')
    alice.ctx.wakers.outbox.wake()
    await new Promise(resolve => setTimeout(resolve, 20))
    expect(going).toEqual([])
    await outbox.stop()
  })

  test('ends only when what is under way has ended', async () => {
    const going = held()
    const outbox = openOutbox(alice.ctx)
    outbox.start()
    await counts(going, 1)
    let over = false
    const stopping = outbox.stop().then(() => {
      over = true
    })
    await new Promise(resolve => setTimeout(resolve, 20))
    expect(over).toBe(false)
    going[0]?.()
    await stopping
    expect(delivery(first()).delivery).toBe('at_hub')
  })
})

describe('refusals of a hub', () => {
  test.each([['too_large', 'larger than the hub takes; send less at once']])(
    '%s is final, and message and task have failed with the reason in words',
    async (code, reason) => {
      refuses(code)
      await alice.send()
      expect(delivery(first())).toMatchObject({ delivery: 'failed', reason })
      expect(alice.thread(task.id)).toMatchObject({ state: 'failed', reason })
      expect(outboxSize(alice.ctx.store)).toBe(0)
    },
  )

  test('a later message that fails leaves its interaction as it is', async () => {
    await world.settle()
    refuses('too_large')
    const second = wrote('too much')
    await alice.send()
    expect(delivery(second).delivery).toBe('failed')
    expect(alice.thread(task.id).state).not.toBe('failed')
  })

  test.each(['hub_busy', 'constructor', '__proto__'])(
    'one that nobody named (%s) is tried again, no earlier than the hub said',
    async code => {
      refuses(code, {}, 90_000)
      await alice.send()
      expect(alice.entry()).toMatchObject({ state: 'queued', attempts: 1, refusedAs: code })
      expect(alice.entry().nextAt).toBe(world.clock.ms + 90_000)
    },
  )

  test.each(['bad_exp', 'expired'])(
    '%s is tried again, and says that a clock is wrong and by how much',
    async code => {
      alice.hub.answers({
        send: async () => {
          alice.hub.knownTimeMs = alice.hub.timeMs - 3 * 24 * 3_600_000
          throw refusedWith(code)
        },
      })
      await alice.send()
      expect(alice.entry()).toMatchObject({ state: 'queued', attempts: 1 })
      expect(alice.entry().lastError).toMatch(
        /^the clock of the hub is 72 hours behind the one of this machine/,
      )
    },
  )

  test('without a time the pauses double from a second, jittered by half, up to ten minutes', async () => {
    refuses('hub_busy')
    const pauses: number[] = []
    for (let n = 0; n < 14; n++) {
      await alice.send()
      pauses.push(alice.entry().nextAt - world.clock.ms)
      world.clock.ms = alice.entry().nextAt
    }
    for (const [n, pause] of pauses.entries()) {
      const full = Math.min(1000 * 2 ** n, 600_000)
      expect(pause).toBeGreaterThanOrEqual(full / 2)
      expect(pause).toBeLessThanOrEqual(full)
    }
    expect(new Set(pauses.slice(-4)).size).toBeGreaterThan(1)
  })

  test('an unknown recipient is tried for all of the time, and gets everything in order once it is back', async () => {
    await world.settle()
    refuses('recipient_unknown')
    const id = alice.ctx.store.get<{ id: string }>('SELECT id FROM interactions')?.id ?? ''
    alice.say(id, 'hello?')
    alice.within(() => alice.tasks.endings.propose(alice.thread(id)))
    const [words, end] = alice.messages(id).slice(-2)
    for (let passed = 0; passed < 20 * DAY_MS; passed += DAY_MS) {
      await alice.send()
      world.pass(DAY_MS)
    }
    expect(alice.entry(words?.key).lastError).toMatch(/gets this once it is back/)
    expect(alice.entry(end?.key).state).toBe('queued')
    alice.hub.answers({})
    await world.settle()
    expect(bob.thread(id)).toMatchObject({ state: 'end_proposed', heldTo: 3 })
  })

  test('an unknown recipient or a stale key whose directory entry changed is tried again at once', async () => {
    await world.settle()
    for (const code of ['recipient_unknown', 'kid_stale']) {
      bob.ctx.identity.rotate(bob.hub.identity.aid, world.clock.ms + 1)
      world.pass(1000)
      const { identity, keys } = bob.ctx
      const keySet = keys.ensureSet(identity.log, identity.seed, { bytes: 512 * 1024, perDay: 6 })
      world.post.listed.set(bob.aid, { log: identity.log, keySet })
      refuses(code)
      const message = wrote(`after ${code}`)
      await alice.send()
      expect(alice.entry(message)).toMatchObject({ state: 'queued', nextAt: world.clock.ms, refusedAs: code })
      alice.hub.answers({})
      await alice.send()
    }
  })

  test('an unknown recipient that names another hub as its home is told so', async () => {
    await world.settle()
    bob.ctx.identity.rotate(alice.aid, world.clock.ms + 1)
    world.pass(1000)
    const { identity, keys } = bob.ctx
    const keySet = keys.ensureSet(identity.log, identity.seed, { bytes: 512 * 1024, perDay: 6 })
    world.post.listed.set(bob.aid, { log: identity.log, keySet })
    refuses('kid_stale')
    const message = wrote('where are you?')
    await alice.send()
    refuses('recipient_unknown')
    await alice.send()
    expect(alice.entry(message)).toMatchObject({
      state: 'queued',
      lastError: expect.stringContaining('the recipient is at another hub than this node'),
    })
  })

  test('a stale key without news waits for its turn', async () => {
    await world.settle()
    refuses('kid_stale')
    const message = wrote('again')
    await alice.send()
    expect(alice.entry(message).nextAt).toBeGreaterThan(world.clock.ms)
  })

  test('a refused session is tried again at once the first time, whatever was refused before', async () => {
    refuses('rate_limited')
    await alice.send()
    world.pass(60_000)
    refuses('session_invalid')
    await alice.send()
    expect(alice.entry()).toMatchObject({ nextAt: world.clock.ms, attempts: 2 })
    await alice.send()
    expect(alice.entry().nextAt).toBeGreaterThan(world.clock.ms)
  })

  test('refused access costs a credential each time, and the third time the message waits, and goes once access is good', async () => {
    refuses('access_invalid')
    for (let n = 1; n <= 2; n++) {
      await alice.send()
      expect(alice.entry()).toMatchObject({ credentialsTried: n, nextAt: world.clock.ms })
    }
    await alice.send()
    expect(alice.entry()).toMatchObject({ state: 'queued', lastError: ACCESS_REFUSED })
    const { length } = alice.hub.sent
    world.pass(60_000)
    await alice.send()
    expect(alice.entry()).toMatchObject({ state: 'queued', lastError: ACCESS_REFUSED })
    expect(alice.hub.sent).toHaveLength(length)
    alice.hub.answers({})
    world.pass(HOUR_MS)
    await world.settle()
    world.pass(HOUR_MS)
    await alice.ask()
    expect(delivery(first()).delivery).toBe('delivered')
  })

  test.each([
    [
      'asked for capabilities where the directory does not answer',
      () => Promise.reject(refusedWith('busy')),
      true,
    ],
    [
      'left alone where the directory does not list it',
      async () => ({ entries: [], partial: false, bits: 0 }),
      false,
    ],
  ])('a known recipient whose hub refuses access is %s', async (_, bucket, asks) => {
    await world.settle()
    world.pass(DAY_MS)
    wrote('more')
    alice.hub.answers({ send: () => Promise.reject(refusedWith('access_invalid')), bucket })
    for (let n = 0; n < 5; n++) {
      await alice.send()
      world.pass(HOUR_MS)
    }
    const asked = alice.ctx.store.all(
      'SELECT 1 FROM messages WHERE interaction IS NULL AND kind = ?',
      kinds.capabilities,
    )
    expect(asked.length > 0).toBe(asks)
  })

  test('refused access drops the capability that was refused', async () => {
    await world.settle()
    bob.say(task.id, 'yes')
    await world.settle()
    const held = () => alice.ctx.capabilities.heldSeeds().length
    const before = held()
    wrote('thanks')
    refuses('access_invalid')
    await alice.send()
    expect(held()).toBe(before - 1)
    expect(alice.entry().credentialsTried).toBe(1)
  })

  test('refused access costs nothing where the clock of the hub is wrong, and the message goes once it is right', async () => {
    await world.settle()
    bob.say(task.id, 'yes')
    await world.settle()
    const before = alice.ctx.capabilities.heldSeeds().length
    alice.hub.knownTimeMs = world.clock.ms - 2 * DAY_MS
    const message = wrote('thanks')
    refuses('access_invalid')
    for (let n = 0; n < 4; n++) {
      await alice.send()
      world.pass(HOUR_MS)
      alice.hub.knownTimeMs += HOUR_MS
    }
    expect(alice.entry(message)).toMatchObject({
      credentialsTried: 0,
      lastError: expect.stringContaining('the clock of the hub is 48 hours behind'),
    })
    expect(alice.ctx.capabilities.heldSeeds()).toHaveLength(before)
    alice.hub.knownTimeMs = undefined
    alice.hub.answers({})
    world.pass(HOUR_MS)
    await world.settle()
    world.pass(HOUR_MS)
    await alice.ask()
    expect(delivery(message).delivery).toBe('delivered')
  })

  test('of a stock whose clock ran ahead no capability is lost: the message says from when on it counts', async () => {
    await world.settle()
    const early = bob.ctx.capabilities.topUp(alice.aid, true)
    expect(early.length).toBeGreaterThan(0)
    alice.within(() => {
      for (const id of alice.ctx.store.all<{ id: Uint8Array }>('SELECT id FROM capabilities_held'))
        alice.ctx.capabilities.dropRefused(bob.aid, id.id)
      alice.ctx.capabilities.accept(bob.aid, early)
    })
    const { expMs } = early[0]?.capability.body ?? { expMs: 0 }
    world.clock.ms = expMs - 31 * DAY_MS - 600_000
    alice.hub.knownTimeMs = world.clock.ms
    const message = wrote('thanks')
    refuses('access_invalid')
    await alice.send()
    expect(alice.entry(message)).toMatchObject({
      credentialsTried: 0,
      lastError: expect.stringContaining(new Date(expMs - 31 * DAY_MS - 300_000).toISOString()),
    })
    expect(alice.ctx.capabilities.heldSeeds()).toHaveLength(early.length)
  })

  test('refused access under another epoch voids the stock and costs no credential', async () => {
    await world.settle()
    bob.say(task.id, 'yes')
    await world.settle()
    const { identity, keys } = bob.ctx
    keys.startEpoch()
    world.pass(1000)
    const keySet = keys.ensureSet(identity.log, identity.seed, { bytes: 512 * 1024, perDay: 6 })
    world.post.listed.set(bob.aid, { log: identity.log, keySet })
    const message = wrote('thanks')
    refuses('access_invalid')
    await alice.send()
    expect(alice.ctx.capabilities.heldSeeds()).toEqual([])
    expect(alice.entry(message)).toMatchObject({
      state: 'queued',
      nextAt: world.clock.ms,
      credentialsTried: 0,
    })
  })

  test('a stranger too large asks the recipient for capabilities once an hour, and not right after a task', async () => {
    refuses('too_large_for_stranger')
    await alice.send()
    expect(alice.entry().refusedAs).toBe('too_large_for_stranger')
    const asked = () =>
      alice.ctx.store.get<{ n: number }>(
        'SELECT count(*) AS n FROM messages WHERE kind = ?',
        kinds.capabilities,
      )?.n
    expect(asked()).toBe(0)
    world.pass(3_600_001)
    await alice.send()
    expect(asked()).toBe(1)
    world.pass(600_000)
    await alice.send()
    expect(asked()).toBe(1)
  })

  test('a hub of the recipient that does not answer is named, and asked again as the own hub says', async () => {
    refuses('home_unreachable', {}, 60_000)
    await alice.send()
    const home = bob.hub.identity.aid
    expect(alice.entry()).toMatchObject({
      lastError: `the hub of the recipient, ${home}, did not answer`,
      refusedAs: 'home_unreachable',
      nextAt: world.clock.ms + 60_000,
    })
  })

  test('busy strangers wait as long as the hub says, unless a capability is here by now', async () => {
    refuses('strangers_busy', {}, 900_000)
    await alice.send()
    expect(alice.entry().nextAt).toBe(world.clock.ms + 900_000)
    expect(alice.entry().refusedAs).toBe('strangers_busy')
    alice.within(() => {
      alice.ctx.capabilities.accept(bob.aid, bob.ctx.capabilities.topUp(alice.aid))
      alice.ctx.threads.hurry(bob.aid)
    })
    expect(alice.entry().nextAt).toBe(world.clock.ms)
    await alice.send()
    expect(alice.entry().nextAt).toBeLessThan(world.clock.ms + 900_000)
  })
})

describe('failures', () => {
  test('a hub that was never reached costs no use of a capability; one that broke off does', async () => {
    alice.within(() => alice.ctx.capabilities.accept(bob.aid, bob.ctx.capabilities.topUp(alice.aid)))
    const uses = () => alice.ctx.store.get<{ n: number }>('SELECT sum(uses) AS n FROM capabilities_held')?.n
    for (const [error, used] of [
      [Object.assign(new Error('x'), { code: 'ECONNREFUSED' }), 0],
      [new HubStopped('no more'), 0],
      [refusedWith('hub_busy'), 0],
      [Object.assign(new Error('x'), { code: 'ECONNRESET' }), 1],
    ] as const) {
      alice.hub.answers({ send: () => Promise.reject(error) })
      await alice.send()
      expect(uses()).toBe(used)
      world.pass(600_000)
    }
  })

  test('are named in one sentence without addresses of this machine', async () => {
    const error = Object.assign(new Error('connect ECONNREFUSED 10.0.0.1:1'), { code: 'ECONNREFUSED' })
    alice.hub.answers({ send: () => Promise.reject(error) })
    await alice.send()
    expect(alice.entry().lastError).toBe('hub unreachable, nothing listens there')
  })

  test('past its deadline a message is not sent any more, and the task has expired', async () => {
    world.pass(28 * DAY_MS)
    await alice.send()
    expect(alice.hub.sent).toEqual([])
    expect(delivery(first())).toMatchObject({ delivery: 'unknown', reason: OVERDUE })
    expect(alice.thread(task.id)).toMatchObject({ state: 'expired', reason: OVERDUE })
  })

  test('a recipient that is listed only now is found at the next try', async () => {
    const listed = world.post.listed.get(bob.aid)
    world.post.listed.delete(bob.aid)
    await alice.send()
    if (listed !== undefined) world.post.listed.set(bob.aid, listed)
    world.pass(10_000)
    await alice.send()
    expect(alice.entry()).toMatchObject({ state: 'at_hub' })
  })

  test('an unlisted recipient is looked for again later, a deactivated one never', async () => {
    world.post.listed.delete(bob.aid)
    await alice.send()
    expect(alice.entry()).toMatchObject({
      state: 'queued',
      lastError: 'no reachable hub lists the recipient',
    })
    bob.ctx.identity.deactivate(world.clock.ms + 1)
    alice.ctx.peers.learn(bob.ctx.identity.log, undefined)
    world.pass(10_000)
    await alice.send()
    expect(delivery(first()).reason).toBe('the recipient deactivated its identity')
    expect(alice.thread(task.id).state).toBe('failed')
  })
})

describe('past their deadline messages end without a hub too', () => {
  test.each(['the hub that the node stopped talking to', 'the hub that it left'])('%s', async where => {
    await alice.send()
    const queued = wrote('never leaves')
    const { ctx } = alice
    if (where.endsWith('left')) ctx.hub.leave()
    else alice.hub.halt('it speaks another wire')
    const { deadlineAt } = alice.entry(queued)
    world.clock.ms = deadlineAt - 1
    mailParts(ctx).settling.endOverdue()
    expect([delivery(first()).delivery, delivery(queued).delivery]).toEqual(['at_hub', 'queued'])
    world.clock.ms = deadlineAt
    mailParts(ctx).settling.endOverdue()
    for (const key of [first(), queued])
      expect(delivery(key)).toMatchObject({ delivery: 'unknown', reason: OVERDUE })
    expect(alice.thread(task.id).state).toBe('expired')
  })

  test('what lies at a hub that can be asked is asked about once more', async () => {
    await alice.send()
    world.clock.ms = alice.entry().deadlineAt
    alice.mail.settling.endOverdue()
    expect(delivery(first()).delivery).toBe('at_hub')
  })
})

describe('questions about deliveries', () => {
  /** A confirmation that bob signs with a code over what alice sent last. */
  function confirmation(code: DackCode, changes: object = {}): Uint8Array {
    const entry = alice.entry()
    const message = delivery(entry.message)
    const { identity, random } = bob.ctx
    const dack = Dack.sign(identity.seed, {
      envelopeDigest: fromBase64url((JSON.parse(entry.digests) as string[]).at(-1) ?? ''),
      messageId: message.messageId,
      messageDigest: message.digest,
      recipient: bob.aid,
      kelSeq: identity.log.seq,
      tsMs: world.clock.ms,
      code,
      ...changes,
    })
    return sealDack(entry.handleSecret, random(12), dack)
  }
  const answered = async (reply: { state: 'queued' | 'done' | 'unknown'; dack?: Uint8Array }) => {
    world.clock.ms = Math.max(world.clock.ms, alice.entry().nextAt)
    alice.hub.answers({ deliveryStates: async (_kind, items) => items.map(() => reply) })
    // One question for each credential.
    for (let n = 0; n < 4; n++) await alice.ask()
    alice.hub.answers({})
  }

  beforeEach(() => alice.send())

  test('come from 10 s on, and further apart each time, up to two minutes', async () => {
    await alice.ask()
    expect(alice.hub.calls).not.toContain('deliveryStates')
    const pauses: number[] = []
    for (let n = 0; n < 8; n++) {
      await answered({ state: 'queued' })
      pauses.push(alice.entry().nextAt - world.clock.ms)
    }
    for (const [n, pause] of pauses.entries()) {
      expect(pause).toBeGreaterThanOrEqual(10_000)
      expect(pause).toBeLessThanOrEqual(10_000 + Math.min(10_000 * 2 ** n, 110_000))
    }
    expect(Math.max(...pauses)).toBeGreaterThan(30_000)
    expect(alice.entry().state).toBe('at_hub')
  })

  test('believe no confirmation under a retired key: the same message goes again', async () => {
    await bob.receive()
    const made = confirmation(dackCodes.stored)
    const { identity } = bob.ctx
    identity.rotate(bob.hub.identity.aid, world.clock.ms + 1)
    alice.within(() => alice.ctx.peers.learn(identity.log, undefined))
    await answered({ state: 'done', dack: made })
    expect(alice.entry()).toMatchObject({ state: 'queued', resent: 1 })
  })

  test('learn of code 4 where the head of the log differs at the same key state', async () => {
    await bob.receive()
    const { identity } = alice.ctx
    const log = { ...identity.log, headDigest: new Uint8Array(32) }
    const forked = {
      ...alice.ctx,
      identity: { aid: alice.aid, seed: identity.seed, log },
    } as typeof alice.ctx
    const ctx = { ...forked, carriers: sealedCarriers(forked) }
    alice.delegate(bob, 'under another head')
    await mailParts(ctx).attempts.make(alice.hub, alice.entry())
    await bob.receive()
    expect(counted(bob.ctx.store, 'peer_forks')).toBe(1)
    expect(bob.ctx.store.all('SELECT 1 FROM interactions')).toHaveLength(1)
  })

  test('name receipt id and handle, never the handle secret', async () => {
    let asked: unknown
    world.clock.ms = alice.entry().nextAt
    alice.hub.answers({
      deliveryStates: async (_kind, items) => {
        asked = items
        return []
      },
    })
    await alice.ask()
    const { handleSecret } = alice.entry()
    expect(asked).toEqual([{ rid: 'rid-1', handle: dackHandle(handleSecret) }])
  })

  test('a confirmation of storage settles the message and the task, and notes what the peer was shown', async () => {
    await answered({ state: 'done', dack: confirmation(dackCodes.stored) })
    expect(delivery(first()).delivery).toBe('delivered')
    expect(alice.thread(task.id).state).toBe('delivered')
    expect(alice.ctx.peers.introducedTo(bob.aid)).toBe(`${alice.ctx.identity.log.seq}.1`)
    expect(outboxSize(alice.ctx.store)).toBe(0)
  })

  test.each([
    [
      dackCodes.refusedByPolicy,
      'refused by the policy of the recipient, who may take no tasks now, or no more from strangers; a stranger can ask to be added as a contact, and send it anew then',
    ],
    [dackCodes.malformed, 'the recipient could not use it'],
    [dackCodes.ended, 'the interaction had ended'],
  ])('a confirmation with code %s is a refusal that says so', async (code, reason) => {
    await answered({ state: 'done', dack: confirmation(code) })
    expect(delivery(first())).toMatchObject({ delivery: 'failed', reason })
    expect(alice.thread(task.id).state).toBe('failed')
  })

  test.each([dackCodes.retiredKey, dackCodes.times])(
    'after code %s the message goes again and brings log and key set, without any help of the directory',
    async code => {
      await world.settle()
      bob.say(task.id, 'yes')
      await world.settle()
      wrote('known to each other')
      await world.settle()
      const told = wrote('under a key that bob lacks')
      await alice.send()
      expect(alice.ctx.peers.introducedTo(bob.aid)).not.toBeNull()
      expect(alice.entry(told).introduces).toBeNull()
      await answered({ state: 'done', dack: confirmation(code) })
      expect(alice.entry(told)).toMatchObject({ state: 'queued', resent: 1 })
      alice.hub.answers({ bucket: async () => ({ entries: [], partial: false, bits: 0 }) })
      world.pass(10_000)
      await alice.send()
      expect(alice.entry(told)).toMatchObject({ state: 'at_hub' })
      expect(alice.entry(told).introduces).not.toBeNull()
    },
  )

  test.each([
    ['of another recipient', { recipient: 'A'.repeat(44) }],
    ['of another message', { messageId: new Uint8Array(16) }],
    ['of another content', { messageDigest: new Uint8Array(32) }],
    ['of an envelope that was never made', { envelopeDigest: new Uint8Array(32) }],
    ['under a key state that is not known', { kelSeq: 9 }],
    ['under a key that is not its own', { kelSeq: 0 }],
  ])('a confirmation %s proves nothing, and the message is sent again', async (_, changes) => {
    const dack = (() => {
      try {
        return confirmation(dackCodes.stored, changes)
      } catch {
        return new Uint8Array(8)
      }
    })()
    await answered({ state: 'done', dack })
    expect(alice.entry()).toMatchObject({
      state: 'queued',
      resent: 1,
      lastError: 'collected, but the confirmation does not verify',
    })
  })

  test('what was collected without a confirmation is sent again, and unknown after its deadline', async () => {
    await answered({ state: 'done' })
    expect(alice.entry()).toMatchObject({
      state: 'queued',
      resent: 1,
      lastError: 'collected, but not confirmed',
    })
    world.clock.ms = alice.entry().nextAt
    await alice.send()
    world.clock.ms = alice.entry().deadlineAt
    await answered({ state: 'done' })
    expect(delivery(first())).toMatchObject({ delivery: 'unknown' })
    expect(alice.thread(task.id).state).toBe('expired')
  })

  test('what the hub does not know any more is sent again, after five times every six hours, up to its deadline', async () => {
    for (let n = 1; n <= 5; n++) {
      await answered({ state: 'unknown' })
      expect(alice.entry()).toMatchObject({ state: 'queued', resent: n, lastError: 'to be sent again' })
      world.clock.ms = alice.entry().nextAt
      await alice.send()
    }
    await answered({ state: 'unknown' })
    expect(alice.entry().nextAt - world.clock.ms).toBeGreaterThanOrEqual(6 * HOUR_MS)
    expect(alice.entry()).toMatchObject({ state: 'queued', resent: 6 })
  })

  test('what has expired by the clock of the hub is sent again, whatever the hub calls it', async () => {
    const { expiresAt } = alice.entry()
    alice.hub.skewMs = (expiresAt ?? 0) - alice.entry().nextAt - 1
    await answered({ state: 'queued' })
    expect(alice.entry().resent).toBe(0)
    alice.hub.skewMs = (expiresAt ?? 0) - alice.entry().nextAt
    await answered({ state: 'queued' })
    expect(alice.entry()).toMatchObject({ resent: 1, lastError: 'expired' })
  })

  test('past its deadline a message that still lies there is unknown, and nothing is sent anew', async () => {
    alice.ctx.store.run('UPDATE outbox SET expires_at = NULL')
    world.clock.ms = alice.entry().deadlineAt
    await answered({ state: 'queued' })
    expect(delivery(first()).reason).toBe(OVERDUE)
  })

  test('past its deadline a message ends as well where its hub answers no question any more', async () => {
    world.clock.ms = alice.entry().deadlineAt
    alice.hub.answers({ deliveryStates: () => Promise.reject(new Error('gone for good')) })
    await alice.ask()
    expect(delivery(first())).toMatchObject({ delivery: 'unknown', reason: OVERDUE })
    expect(outboxSize(alice.ctx.store)).toBe(0)
  })

  test('a hub that does not answer changes nothing but the time of the next question', async () => {
    world.clock.ms = alice.entry().nextAt
    alice.hub.answers({ deliveryStates: () => Promise.reject(new Error('down')) })
    await alice.ask()
    expect(alice.entry()).toMatchObject({ state: 'at_hub', attempts: 1 })
    expect(alice.entry().nextAt).toBeGreaterThan(world.clock.ms)
  })
})

describe('while no connection to the hub comes about', () => {
  const unreached = () => Promise.reject(Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }))
  const sends = () => alice.hub.calls.filter(call => call === 'send').length
  const sealed = () => alice.ctx.store.all("SELECT 1 FROM outbox WHERE digests <> '[]'").length
  let outbox: Outbox

  beforeEach(() => {
    alice.hub.answers({ send: unreached })
    const tasks = Array.from({ length: 300 }, (_, n) => alice.delegate(bob, `task ${n}`))
    expect(tasks).toHaveLength(300)
    outbox = openOutbox({ ...alice.ctx, timings: { ...alice.ctx.timings, backoffFirstMs: 200 } })
    outbox.start()
  })
  afterEach(() => outbox.stop())

  test('one message at a time looks for it, and nothing else is sealed', async () => {
    await expect.poll(sends).toBeGreaterThan(0)
    const first = sends()
    for (let n = 0; n < 20; n++) {
      alice.ctx.wakers.outbox.wake()
      await new Promise(resolve => setTimeout(resolve, 5))
    }
    expect(first).toBeLessThanOrEqual(4)
    expect([sends() - first, sealed()]).toEqual([0, first])
  })

  test('all of them leave as soon as it is there again', async () => {
    await expect.poll(sends).toBeGreaterThan(0)
    alice.hub.answers({})
    alice.ctx.hub.noteContact('away')
    alice.ctx.hub.noteContact(undefined)
    await expect.poll(() => alice.ctx.store.all("SELECT 1 FROM outbox WHERE state = 'queued'").length).toBe(0)
  })
})

test.each(['bad_envelope', 'bad_request'])(
  'a message that the hub calls %s is sealed anew three times before it has failed',
  async code => {
    refuses(code)
    for (let n = 0; n < 3; n++) {
      await alice.send()
      expect(delivery(first()).delivery).toBe('queued')
      world.pass(DAY_MS)
    }
    expect(new Set(alice.hub.sent.map(({ content }) => content)).size).toBe(3)
    await alice.send()
    expect(delivery(first())).toMatchObject({
      delivery: 'failed',
      reason: 'the hub could not read it; this node and the hub may be of different releases',
    })
  },
)

test('a message that a line has garbled once arrives', async () => {
  refuses('bad_envelope')
  await alice.send()
  alice.hub.answers({})
  world.pass(DAY_MS)
  await world.settle()
  expect(bob.ctx.threads.findById(task.id)?.state).toBe('open')
})

describe('what can go under a capability', () => {
  /** Alice has used up what she holds of bob; what she says is put off to the next day of strangers. */
  async function putOff(): Promise<number> {
    await world.settle()
    bob.say(task.id, 'yes')
    await world.settle()
    expect(alice.ctx.capabilities.holdsAny(bob.aid)).toBe(true)
    alice.ctx.store.run('UPDATE capabilities_held SET uses = 4')
    const message = wrote('as a stranger')
    alice.hub.answers({ send: () => Promise.reject(refusedWith('strangers_busy', {}, 11 * HOUR_MS)) })
    await alice.send()
    alice.hub.answers({})
    expect(alice.entry(message).nextAt).toBeGreaterThan(world.clock.ms + 10 * HOUR_MS)
    return message
  }

  test('is due as soon as a use is given back, although strangers wait for the next day', async () => {
    const message = await putOff()
    const held = alice.ctx.store.get<{ id: Uint8Array }>('SELECT id FROM capabilities_held') ?? {
      id: new Uint8Array(0),
    }
    alice.ctx.capabilities.refund(held.id)
    await alice.send()
    expect(delivery(message).delivery).toBe('at_hub')
  })

  test('is found by the chores, however the capability came', async () => {
    const message = await putOff()
    alice.ctx.store.run('UPDATE capabilities_held SET uses = 0')
    alice.ctx.capabilities.hurryHeld()
    await alice.send()
    expect(delivery(message).delivery).toBe('at_hub')
  })

  test("is not tried without end where the hub takes it as a stranger's all the same", async () => {
    const message = await putOff()
    alice.ctx.store.run('UPDATE capabilities_held SET uses = 0, bytes_max = 1')
    alice.hub.answers({ send: () => Promise.reject(refusedWith('strangers_busy', {}, 11 * HOUR_MS)) })
    alice.ctx.capabilities.hurryHeld()
    await alice.send()
    const { nextAt } = alice.entry(message)
    expect(nextAt).toBeGreaterThan(world.clock.ms)
    alice.ctx.capabilities.hurryHeld()
    expect(alice.entry(message).nextAt).toBe(nextAt)
  })
})
