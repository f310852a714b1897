/** Sending sessions of first contacts: who may open how many, how long they live, and what their MAC covers. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { xwingPublicKey } from '../../protocol/crypto/xwing.ts'
import { incept } from '../../protocol/identity/kel.ts'
import { openSession, sessionMac } from '../../protocol/mail/session.ts'
import { openCore, refusedWith, type TestCore } from '../testing/core.ts'
import { random } from '../testing/hub.ts'
import { memoryInProcess } from './in-process/memory.ts'
import { Sessions } from './sessions.ts'

const NOW_MS = 1_800_000_000_000
const WINDOW_MS = 300_000
const [ONE = '', TWO = ''] = [1, 2].map(
  () => incept({ seed: random(32), nextSeed: random(32), ts: NOW_MS }).aid,
)
const DIGEST = new Uint8Array(32).fill(1)
const ACCESS = Uint8Array.of(0xa1, 1, 0)

let core: TestCore
let sessions: Sessions
beforeEach(async () => {
  core = await openCore(NOW_MS, { sessionsPerMinute: 6, sessionQuota: 2 })
  sessions = new Sessions(core.context)
})
afterEach(() => core.close())

async function open(aid: string) {
  const seed = random(32)
  const { sid, enc, ciphertext } = await sessions.open(aid, xwingPublicKey(seed), async () => true)
  const names = { hub: core.context.identity.aid, sid, aid }
  return { sid, ...openSession(seed, names, enc, ciphertext) }
}
type Opened = Awaited<ReturnType<typeof open>>
const use = (
  session: Opened,
  tsMs = core.clock.ms,
  more: { digest?: Uint8Array; access?: Uint8Array } = {},
) =>
  refusedWith(async () => {
    const covered = { sid: session.sid, tsMs, envelopeDigest: DIGEST, access: ACCESS }
    const mac = sessionMac(session.macKey, covered)
    await sessions.judge({ sid: session.sid, tsMs, mac }, more.digest ?? DIGEST, more.access ?? ACCESS)
  })

/** One first contact, and how long its sender would wait for another. */
const contact = (sender: string) => {
  const roomy = { perMinute: 99, senderPerMinute: 99, senderPerDay: 99, senderWaiting: 99 }
  const limits = { ...roomy, sentPerDay: core.context.limits.sessionQuota }
  return core.context.memory.shares.take({ sender, mailbox: 1, nowMs: core.clock.ms, limits })
}
const sent = async (aid: string) => expect((await contact(aid)).outcome).toBe('taken')
async function waitOf(aid: string): Promise<number> {
  const { limits, memory } = core.context
  if ((await memory.shares.left(aid, limits.sessionQuota, core.clock.ms)) > 0) return 0
  const refused = await contact(aid)
  return refused.outcome === 'senderFull' ? refused.waitMs : 0
}

test('a session of an agent whose key is retired while it opens is none, and ends the others', async () => {
  const before = await open(ONE)
  const epk = xwingPublicKey(random(32))
  expect(await refusedWith(() => sessions.open(ONE, epk, async () => false))).toBe('keyRetired')
  expect(await use(before)).toBe('sessionInvalid')
})

test('a session lives until its end, which it names', async () => {
  const session = await open(ONE)
  expect(session.expMs).toBe(NOW_MS + core.context.limits.sessionLifeMs)
  core.clock.ms = session.expMs - 1
  expect(await use(session)).toBeUndefined()
  core.clock.ms = session.expMs
  expect(await use(session)).toBe('sessionInvalid')
})

test('its MAC covers envelope, credential and a time within five minutes', async () => {
  const session = await open(ONE)
  expect([await use(session, NOW_MS - WINDOW_MS), await use(session, NOW_MS + WINDOW_MS)]).toEqual([
    undefined,
    undefined,
  ])
  const wrong = [
    await use(session, NOW_MS - WINDOW_MS - 1),
    await use(session, NOW_MS + WINDOW_MS + 1),
    await use(session, NOW_MS, { digest: new Uint8Array(32) }),
    await use(session, NOW_MS, { access: Uint8Array.of(0xa1, 1, 1) }),
    await use({ ...session, sid: random(16) }),
  ]
  expect(new Set(wrong)).toEqual(new Set(['sessionInvalid']))
})

test('a fifth session ends the oldest of its agent alone', async () => {
  const other = await open(TWO)
  const own: Opened[] = []
  for (let i = 0; i < 5; i++) own.push(await open(ONE))
  expect(await Promise.all(own.map(session => use(session)))).toEqual([
    'sessionInvalid',
    ...Array(4).fill(undefined),
  ])
  expect(await use(other)).toBeUndefined()
  await sessions.endAll(ONE)
  expect(new Set(await Promise.all(own.map(session => use(session))))).toEqual(new Set(['sessionInvalid']))
  expect(await use(other)).toBeUndefined()
})

test('the end of an agent ends what is left when an older session is over', async () => {
  await open(ONE)
  core.clock.ms += core.context.limits.sessionLifeMs - 1
  const left = await open(ONE)
  core.clock.ms += 1
  // over sessions are let go when one is opened
  await open(TWO)
  expect(await use(left)).toBeUndefined()
  await sessions.endAll(ONE)
  expect(await use(left)).toBe('sessionInvalid')
})

test('an agent opens so many a minute; the quota of the day is told and kept', async () => {
  for (let i = 0; i < 6; i++) expect((await open(ONE)).quota).toBe(2)
  expect(await refusedWith(() => open(ONE))).toBe('rateLimited')
  core.clock.ms += 10_000
  await sent(ONE)
  expect([(await open(ONE)).quota, await waitOf(ONE)]).toEqual([1, 0])
  await sent(ONE)
  core.clock.ms += 10_000
  const untilDayMs = 86_400_000 - (core.clock.ms % 86_400_000)
  expect([(await open(ONE)).quota, await waitOf(ONE)]).toEqual([0, untilDayMs])
  expect(await waitOf(TWO)).toBe(0)
})

test('after a start on the same day half of the quota is used, on the next day none', async () => {
  core.context.limits.sessionQuota = 5
  const { store } = core.context
  core.context.memory = memoryInProcess({ store, random, nowMs: NOW_MS, lastMs: NOW_MS - 1000 })
  sessions = new Sessions(core.context)
  expect((await open(ONE)).quota).toBe(3)
  for (let i = 0; i < 3; i++) await sent(ONE)
  expect([(await open(ONE)).quota, (await waitOf(ONE)) > 0]).toEqual([0, true])
  core.clock.ms += 86_400_000
  expect([(await open(ONE)).quota, await waitOf(ONE)]).toEqual([5, 0])
})

test('what is no key of the suite opens nothing', async () => {
  expect(await refusedWith(() => sessions.open(ONE, new Uint8Array(10), async () => true))).toBe(
    'requestMalformed',
  )
})
