// project: programs

import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { fromHex, toBase64url } from '../../protocol/encoding/bytes.ts'
import { fixture } from '../../protocol/testing/agents.ts'
/** Every limit of the hub at its edge: what is just within it passes, what is just beyond is refused (hub API §8). */
import { systemTimers } from '../../protocol/timers.ts'
import type { Wire3RouteName } from '../../protocol/wire3/routes.ts'
import type { HubContext } from '../core/context.ts'
import { DAY_MS, defaultLimits, HOUR_MS, type Limits } from '../core/limits.ts'
import { Admission, MODE_SETTING } from '../core/membership/admission.ts'
import { Verifier } from '../core/verifier.ts'
import { BodyPool } from '../http/body-room.ts'
import {
  callRoute,
  type Reply,
  random,
  registeredAgent,
  request,
  startTestHub,
  TestAgent,
  type TestHub,
} from '../testing/hub.ts'
import { type Edge, expectEdge, mailEdges, set } from '../testing/limits.ts'
import { sealedUnderCapability, sendEnvelope } from '../testing/mail.ts'
import { reviewUpload } from '../testing/reviews.ts'
import { sendRow } from '../testing/routes.ts'
import { newcomer, registerFrom } from '../testing/sign-ups.ts'
import { nextReply, openSocket, requestHead } from '../testing/sockets.ts'

const MIB = 1024 * 1024
const MINUTE_MS = 60_000
const slow = (burst: number) => ({ perSecond: 1 / 60, burst })

/** What the hub settles when it starts. */
const started: Partial<Limits> = {
  bytesInFlightMax: 2 * MIB,
  heldPollsMax: 1,
  sessionsPerMinute: 5,
  statusRate: slow(3),
  pushRate: slow(3),
  bucketRate: slow(3),
  checkRate: slow(3),
  keyEventRate: slow(3),
  revokeRate: slow(3),
  peerRate: slow(3),
  requestRate: slow(12),
}

let hub: TestHub
beforeAll(async () => {
  hub = await startTestHub({ limits: started })
})
afterEach(() => set(hub, { ...defaultLimits, ...started }))
afterAll(() => hub.close())

const from = (address: string) => ({ headers: { 'X-Forwarded-For': address } })
let subnet = 0

/** Three at once from one /64 and from one IPv4 address, none more until a minute later; other addresses go on. */
const perAddress =
  (ask: (address: string) => Promise<Reply>, burst = 3): Edge =>
  async hub => {
    subnet += 1
    const times = async (address: (i: number) => string, count: number): Promise<Reply[]> => {
      const replies = []
      for (let i = 0; i < count; i++) replies.push(await ask(address(i)))
      return replies
    }
    const inSubnet = (i: number) => `2001:db8:0:${subnet.toString(16)}::${i + 1}`
    expectLimited(await times(inSubnet, burst + 1), burst)
    expectLimited(await times(() => `198.51.100.${subnet}`, burst + 1), burst)
    expectLimited(await times(i => `2001:db8:${i + 1}:${subnet.toString(16)}::1`, burst + 1), burst + 1)
    hub.clock.advance(MINUTE_MS)
    expectLimited(await times(inSubnet, 2), 1)
  }

/** So many pass the bucket, whatever else they are told; the rest waits for a minute at most. */
function expectLimited(replies: Reply[], passing: number): void {
  expect(replies.map(reply => reply.json['reason'] === 'rate_limited')).toEqual(
    replies.map((_, i) => i >= passing),
  )
  for (const reply of replies.slice(passing)) {
    const seconds = Number(reply.headers.get('Retry-After'))
    expect([seconds >= 1, seconds <= 60]).toEqual([true, true])
  }
}

const checkOnly = (hub: TestHub, address: string): Promise<Reply> => {
  const agent = new TestAgent(hub)
  return agent.call('register', { aid: agent.aid, kel: agent.kel, check_only: true }, from(address))
}
const anonymous = (name: Wire3RouteName, body: unknown) => (address: string) =>
  callRoute(hub, name, body, from(address))

const rateEdges = {
  requestRate: async hub => {
    await perAddress(address => request(`${hub.url}/healthz`, 'GET', from(address)), 12)(hub)
    // A large body weighs as much as several requests.
    const nobody = new TestAgent(hub)
    const large = (address: string) =>
      nobody.call('relayAck', { items: [], rest: 'a'.repeat(6 * 64 * 1024) }, from(address))
    const told = [await large('198.51.100.201'), await large('198.51.100.201'), await large('198.51.100.202')]
    expect(told.map(({ json }) => json['reason'])).toEqual(['bad_request', 'rate_limited', 'bad_request'])
    const listed = []
    for (let i = 0; i < 3; i++) listed.push(await callRoute(hub, 'agents', undefined, from('198.51.100.203')))
    expect(listed.map(({ status }) => status)).toEqual([200, 200, 429])
    const local = []
    for (let i = 0; i < 20; i++) local.push(await request(`${hub.url}/healthz`, 'GET'))
    expectLimited(local, 20)
  },
  peerRate: async hub => {
    const agent = await registeredAgent(hub)
    const told = []
    for (let i = 0; i < 4; i++) told.push((await sendRow('fedBucket', agent)).json['reason'])
    expect(told).toEqual([undefined, undefined, undefined, 'source_rate'])
  },
  statusRate: hub =>
    perAddress(
      anonymous('relayStatus', {
        items: [{ rid: toBase64url(random(16)), handle: toBase64url(random(16)) }],
      }),
    )(hub),
  pushRate: hub => {
    const agent = new TestAgent(hub)
    return perAddress(anonymous('pushKel', { aid: agent.aid, kel: agent.kel }))(hub)
  },
  keyEventRate: async hub => {
    const grow = (agent: TestAgent, address?: string): Promise<Reply> => {
      agent.rotate()
      return agent.call(
        'register',
        { aid: agent.aid, kel: agent.kel },
        address === undefined ? {} : from(address),
      )
    }
    // Two events each; a log that is known pays for what is new.
    const agent = await registeredAgent(hub)
    expectLimited([await grow(agent), await grow(agent)], 1)
    hub.clock.advance(MINUTE_MS)
    const again = () => agent.call('register', { aid: agent.aid, kel: agent.kel })
    expectLimited([await again(), await again()], 2)
    // An address pays for all the logs that it shows, whosever they are, on every route that takes one.
    const newcomer = async (): Promise<TestAgent> => {
      const made = new TestAgent(hub)
      await hub.running.hub.context.store.admit(made.aid, true)
      return made
    }
    const [one, two, three] = [await newcomer(), await newcomer(), await newcomer()]
    expectLimited([await grow(one, '2001:db8:77::1'), await grow(two, '2001:db8:77::2')], 1)
    expectLimited([await grow(three, '2001:db8:78::1')], 1)
    set(hub, { probationMs: 0 })
    const reviewer = await registeredAgent(hub)
    const stranger = new TestAgent(hub)
    for (let i = 0; i < 3; i++) stranger.rotate()
    expectLimited([await reviewer.call('uploadReview', reviewUpload(reviewer, stranger))], 0)
  },
  bucketRate: hub => perAddress(anonymous('directoryBucket', { prefix: '', bits: 0 }))(hub),
  checkRate: async hub => {
    await hub.running.hub.context.store.putSetting(MODE_SETTING, 'open')
    await perAddress(address => checkOnly(hub, address))(hub)
  },
  revokeRate: async hub => {
    const agent = await registeredAgent(hub)
    const replies = []
    for (let i = 0; i < 4; i++) replies.push(await sendRow('mailboxRevoke', agent))
    expectLimited(replies, 3)
    expectLimited([await sendRow('mailboxRevoke', await registeredAgent(hub))], 1)
    hub.clock.advance(MINUTE_MS)
    expectLimited([await sendRow('mailboxRevoke', agent), await sendRow('mailboxRevoke', agent)], 1)
  },
  sessionsPerMinute: async hub => {
    const agent = await registeredAgent(hub)
    const replies = []
    for (let i = 0; i < 6; i++) replies.push(await sendRow('relaySession', agent))
    expectLimited(replies, 5)
    hub.clock.advance(MINUTE_MS)
    expectLimited([await sendRow('relaySession', agent)], 1)
  },
} satisfies Partial<Record<keyof Limits, Edge>>

const vector = fixture<{
  secret: string
  seed: string
  hub: string
  aid: string
  nonce: string
  notAfterMs: number
  bits: number
}>('pow/solutions.json')

/** What an open hub says to the recorded newcomer, with a clock and limits of its own. */
async function judge(limits: Partial<Limits>, nowMs = vector.notAfterMs) {
  const { context } = hub.running.hub
  await context.store.putSetting(MODE_SETTING, 'open')
  const clock = { now: nowMs }
  const own: HubContext = {
    ...context,
    identity: { ...context.identity, aid: vector.hub },
    secret: fromHex(vector.secret),
    now: () => clock.now,
    limits: { ...context.limits, ...limits },
  }
  const admission = new Admission(own)
  const newcomer = {
    aid: vector.aid,
    pow: { seed: fromHex(vector.seed), nonce: fromHex(vector.nonce) },
    checkOnly: false,
  }
  const say = (address: string) =>
    admission.judge(newcomer, address).catch(error => (error as { code: string }).code)
  return { clock, say }
}

async function untilHeld({ running }: TestHub): Promise<void> {
  while (running.hub.polls.size === 0) await new Promise(resolve => setTimeout(resolve, 2))
}

/** Ends the held poll of an agent, once there is one. */
async function endHeld(hub: TestHub, agent: TestAgent): Promise<void> {
  await untilHeld(hub)
  hub.running.hub.polls.end((await hub.running.hub.agents.find(agent.aid))?.row.number ?? 0)
}

const startEdges = {
  powBits: async () => {
    const within = await judge({ powBits: vector.bits })
    expect(await within.say('203.0.113.1')).toBe('open')
    expect(await (await judge({ powBits: vector.bits + 1 })).say('203.0.113.1')).toBe('powRequired')
    within.clock.now += 1
    expect(await within.say('203.0.113.1')).toBe('powRequired')
  },
  registrationsPerDay: async hub => {
    await hub.running.hub.context.store.putSetting(MODE_SETTING, 'open')
    hub.clock.advance(DAY_MS - (hub.clock.now() % DAY_MS) + 1000)
    set(hub, { registrationsPerDay: 2, powBits: 4 })
    const register = async (address: string): Promise<Reply> => {
      const { agent, pow } = await newcomer(hub, address)
      return await registerFrom(agent, address, pow)
    }
    for (const [first, second, third] of [
      ['192.0.2.1', '192.0.2.2', '192.0.2.254'],
      ['2001:db8:5:1::1', '2001:db8:5:2::1', '2001:db8:5:ffff::9'],
    ] as const) {
      const within = [await register(first), await register(second)]
      expectEdge([...within, await registerFrom(new TestAgent(hub), third)], 'registration_quota')
    }
  },
  trialCredits: async hub => {
    set(hub, { trialCredits: 7 })
    const [first, second] = [await registeredAgent(hub), await trialLess(hub)]
    expect([await balanceOf(first), await balanceOf(second)]).toEqual([7, 0])
  },
  trialBudget: async () => {
    const own = await startTestHub({ limits: { probationMs: 0 } })
    own.clock.advance(DAY_MS - (own.clock.now() % DAY_MS) + 1000)
    const agents = [await trialLess(own), await trialLess(own), await trialLess(own)]
    set(own, { trialCredits: 10, trialBudget: 25 })
    const given = async () => {
      own.clock.advance(HOUR_MS)
      await own.running.hub.books.turn()
      const balances = await Promise.all(agents.map(balanceOf))
      return balances.filter(balance => balance === 10).length
    }
    expect(await given()).toBe(2)
    expect(await given()).toBe(2)
    own.clock.advance(DAY_MS)
    expect(await given()).toBe(3)
    await own.close()
  },
  bytesInFlightMax: async hub => {
    const agent = await registeredAgent(hub)
    const capability = agent.capability()
    const small = sealedUnderCapability(agent, capability, { contentBytes: MIB })
    const rest = 2 * MIB - (small.bytes.length - MIB)
    const replies = []
    for (const contentBytes of [MIB, rest, rest + 1])
      replies.push(await sendEnvelope(hub, sealedUnderCapability(agent, capability, { contentBytes })))
    expectEdge(replies, 'unavailable')
    expect(
      (await sendEnvelope(hub, sealedUnderCapability(agent, capability, { contentBytes: rest }))).status,
    ).toBe(200)
  },
  jsonBytesInFlightMax: async () => {
    const pool = new BodyPool(3, 3, systemTimers)
    const rooms = [pool.open(), pool.open()]
    rooms[0]?.cover(3)
    expect(() => rooms[1]?.cover(1)).toThrow('overloaded')
    rooms[0]?.release()
    rooms[1]?.cover(3)
    expect(pool.held).toBe(3)
  },
  heldPollsMax: async hub => {
    const [one, two] = [await registeredAgent(hub), await registeredAgent(hub)]
    const wait = { headers: { Prefer: 'wait=50' } }
    const held = one.call('relayPoll', {}, wait)
    await untilHeld(hub)
    const beyond = await two.call('relayPoll', {}, wait)
    expect([beyond.status, beyond.headers.get('Preference-Applied')]).toEqual([200, null])
    const newer = one.call('relayPoll', {}, wait)
    expect((await held).json['messages']).toEqual([])
    await endHeld(hub, one)
    expect((await newer).headers.get('Preference-Applied')).toBe('wait=50')
  },
  pollWaitSecondsMax: async hub => {
    const agent = await registeredAgent(hub)
    set(hub, { pollWaitSecondsMax: 7 })
    for (const [asked, applied] of [
      [7, 'wait=7'],
      [8, 'wait=7'],
      [6, 'wait=6'],
    ] as const) {
      const held = agent.call('relayPoll', {}, { headers: { Prefer: `wait=${asked}` } })
      await endHeld(hub, agent)
      expect((await held).headers.get('Preference-Applied')).toBe(applied)
    }
  },
  verificationsMax: async () => {
    const verifier = new Verifier(2)
    const ask = () =>
      verifier.verify(random(32), random(8), random(64)).catch(error => (error as Error).message)
    expect(await Promise.all([ask(), ask(), ask()])).toEqual([false, false, 'overloaded'])
    expect(await ask()).toBe(false)
    await verifier.close()
  },
  connectionsMax: async () => {
    const narrow = await startTestHub({ limits: { connectionsMax: 2 } })
    const { hostname, port } = new URL(narrow.url)
    const open = (): Promise<{ socket: Socket; kept: boolean }> =>
      new Promise(resolve => {
        const socket = connect(Number(port), hostname)
        socket.on('error', () => undefined)
        socket.once('data', () => resolve({ socket, kept: true }))
        socket.once('close', () => resolve({ socket, kept: false }))
        socket.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n')
      })
    const opened = [await open(), await open(), await open()]
    expect(opened.map(({ kept }) => kept)).toEqual([true, true, false])
    for (const { socket } of opened) socket.destroy()
    await narrow.close()
  },
  connectionsPerAddressMax: async () => {
    const narrow = await startTestHub({ limits: { connectionsPerAddressMax: 2, requestRate: slow(2) } })
    const health = requestHead('GET', '/healthz')
    const ask = async (from: string) => {
      const socket = await openSocket(narrow.url, from)
      socket.write(health)
      return { socket, status: (await nextReply(socket))?.status }
    }
    const one = [await ask('127.0.0.2'), await ask('127.0.0.2'), await ask('127.0.0.2')]
    expect(one.map(({ status }) => status)).toEqual([200, 200, undefined])
    const elsewhere = [
      await ask('127.0.0.3'),
      await ask('127.0.0.1'),
      await ask('127.0.0.1'),
      await ask('127.0.0.1'),
    ]
    expect(elsewhere.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    // A request too many ends its connection, and the address has room for another one.
    const [first] = one
    const ended = new Promise(resolve => first?.socket.once('close', resolve))
    first?.socket.write(health)
    expect((first && (await nextReply(first.socket)))?.head).toMatch(
      /^HTTP\/1.1 429[\s\S]*Connection: close/i,
    )
    await ended
    expect((await ask('127.0.0.2')).status).toBe(429)
    for (const { socket } of [...one, ...elsewhere]) socket.destroy()
    await narrow.close()
  },
} satisfies Partial<Record<keyof Limits, Edge>>

async function balanceOf(agent: TestAgent): Promise<unknown> {
  return (await agent.call('balance', undefined, { params: { aid: agent.aid } })).json['balance']
}

/** An agent of a time when the hub gave nothing. */
async function trialLess(hub: TestHub): Promise<TestAgent> {
  set(hub, { trialCredits: 0 })
  return await registeredAgent(hub)
}

/** Limits that stand under test elsewhere: in which file, and under which sentence. */
const disk = './disk-faults.test.ts'
const slowBody = 'a body that comes more slowly than the minimum rate is cut, and nothing of it stays'
const elsewhere = {
  storeBytesMax: [disk, 'a full disk refuses sends; polls and acks go on and make room for the next send'],
  bodyBytesPerSecondMin: [disk, slowBody],
  bodyGraceMs: [disk, slowBody],
  openMailBytesInFlightMax: [
    '../v1/letters.test.ts',
    'letters on their way in have room of their own, of which an address has half',
  ],
} satisfies Partial<Record<keyof Limits, readonly [string, string]>>

// A limit without a test does not compile.
const edges = { ...mailEdges, ...rateEdges, ...startEdges }
const tested: Record<keyof Limits, unknown> = { ...edges, ...elsewhere }

describe('each limit', () => {
  test.each(Object.entries(edges))('%s holds at its edge', async (_, edge: Edge) => {
    await edge(hub)
  })

  test('has a test, here or where it is said', () => {
    expect(Object.keys(tested).sort()).toEqual(Object.keys(defaultLimits).sort())
    for (const [name, [path, title]] of Object.entries(elsewhere)) {
      const text = readFileSync(new URL(path, import.meta.url), 'utf8')
      expect(text).toContain(`test('${title}'`)
      expect(text).toContain(name)
    }
  })
})
