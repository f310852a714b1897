/** Who may have an account: by the operator's word, or by work, within the day of an address range. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { incept } from '../../../protocol/identity/kel.ts'
import { POW_LIFE_MS, powBits, powSeed, solveRange } from '../../../protocol/identity/pow.ts'
import { openCore, type TestCore } from '../../testing/core.ts'
import { random } from '../../testing/hub.ts'
import { agentRow } from '../../testing/store-contract.ts'
import type { Refusal } from '../refusal.ts'
import { Admission, MODE_SETTING, type Newcomer } from './admission.ts'

const NOW_MS = 1_800_000_000_000
const DAY_MS = 86_400_000
const BITS = 6
const HERE = '192.0.2.1'
const aid = incept({ seed: random(32), nextSeed: random(32), ts: NOW_MS }).aid
const other = incept({ seed: random(32), nextSeed: random(32), ts: NOW_MS }).aid

let core: TestCore
let admission: Admission
beforeEach(async () => {
  const checkRate = { perSecond: 1, burst: 2 }
  core = await openCore(NOW_MS, { powBits: BITS, registrationsPerDay: 2, checkRate })
  admission = new Admission(core.context)
})
afterEach(() => core.close())

const open = () => core.context.store.putSetting(MODE_SETTING, 'open')
const newcomer = (more: Partial<Newcomer> = {}): Newcomer => ({
  aid,
  pow: undefined,
  checkOnly: false,
  ...more,
})
const judge = (given: Newcomer, address = HERE): Promise<string | Refusal> =>
  admission.judge(given, address).catch((refusal: Refusal) => refusal)
const told = async (given: Newcomer, address?: string): Promise<string> => {
  const said = await judge(given, address)
  return typeof said === 'string' ? said : said.code
}

/** Work for an AID, whose seed holds until some time. */
function workOf(notAfterMs = NOW_MS + POW_LIFE_MS, given: { of?: string; secret?: Uint8Array } = {}) {
  const seed = powSeed(given.secret ?? core.context.secret, given.of ?? aid, notAfterMs)
  const task = { hub: core.context.identity.aid, aid, seed }
  const nonce = solveRange(task, BITS, 0, 1 << 16)
  if (nonce === undefined) throw new Error('too much work for a test')
  return { seed, nonce }
}

/** The same, with a nonce that gives too few bits. */
function weakWork() {
  const { seed } = workOf()
  const task = { hub: core.context.identity.aid, aid, seed }
  for (let last = 0; last < 256; last += 1) {
    const nonce = Uint8Array.from([255, 255, 255, 255, 255, 255, 255, last])
    if (powBits(task, nonce) < BITS) return { seed, nonce }
  }
  throw new Error('every nonce holds')
}

/** Stores an account that came by work. */
const take = async (pow = workOf(), address = HERE, name = random(8).toString()) => {
  const signUp = admission.signUp(newcomer({ pow }), address)
  return (await core.context.store.putAgent({ row: agentRow(name), entry: undefined, terms: [], signUp }))
    .outcome
}

describe('while admission is closed', () => {
  test('only whom the operator admitted comes in, work or not', async () => {
    expect(await told(newcomer({ pow: workOf() }))).toBe('admissionRequired')
    expect(await told(newcomer({ checkOnly: true }))).toBe('admissionRequired')
    await core.context.store.admit(aid, true)
    expect([await told(newcomer()), await told(newcomer({ checkOnly: true }))]).toEqual([
      'admitted',
      'admitted',
    ])
    expect(await told(newcomer({ aid: other }))).toBe('admissionRequired')
  })
})

describe('while admission is open', () => {
  beforeEach(() => open())

  test('work lets in until its seed ends, for its AID, its hub and as many bits', async () => {
    expect(await told(newcomer({ pow: workOf(NOW_MS) }))).toBe('open')
    const weak = weakWork()
    for (const pow of [
      undefined,
      workOf(NOW_MS - 1),
      workOf(NOW_MS + 1, { of: other }),
      workOf(NOW_MS + 1, { secret: random(32) }),
      weak,
      { ...workOf(), seed: random(31) },
    ])
      expect(await told(newcomer({ pow }))).toBe('powRequired')
  })

  test('a challenge names how much work, and holds for ten minutes', async () => {
    const { facts } = (await judge(newcomer())) as Refusal
    expect(facts.challenge).toMatchObject({ bits: BITS, notAfterMs: NOW_MS + POW_LIFE_MS })
    expect(facts.challenge?.seed).toEqual(powSeed(core.context.secret, aid, NOW_MS + POW_LIFE_MS))
  })

  test('a question alone takes no work, and each address may ask so often', async () => {
    const asks = []
    for (let i = 0; i < 3; i++) asks.push(await told(newcomer({ checkOnly: true })))
    expect(asks).toEqual(['open', 'open', 'rateLimited'])
    expect(await told(newcomer({ checkOnly: true }), '192.0.2.2')).toBe('open')
  })

  test('a range has its day, the next one another; a proof makes one account', async () => {
    const pow = workOf()
    expect([await take(pow), await take(pow), await take(workOf(NOW_MS + 1))]).toEqual([
      'stored',
      'proofUsed',
      'stored',
    ])
    expect(await take(workOf(NOW_MS + 2))).toBe('rangeFull')
    const refused = (await judge(newcomer({ pow: workOf(NOW_MS + 2) }), '192.0.2.200')) as Refusal
    expect([refused.code, refused.facts.retryAfterMs]).toEqual([
      'registrationQuota',
      DAY_MS - (NOW_MS % DAY_MS),
    ])
    expect(await told(newcomer({ pow }), '192.0.3.1')).toBe('powRequired')
    expect(await told(newcomer({ pow: workOf(NOW_MS + 2) }), '192.0.3.1')).toBe('open')
    core.clock.ms += DAY_MS
    expect(await told(newcomer({ pow: workOf(core.clock.ms) }))).toBe('open')
  })

  test('who is admitted needs no work and takes no place', async () => {
    await take()
    await take(workOf(NOW_MS + 1))
    await core.context.store.admit(aid, true)
    expect(await told(newcomer())).toBe('admitted')
  })

  test('who has not registered is told nothing of the list', async () => {
    await admission.checkOpen(other)
    await core.context.store.putSetting(MODE_SETTING, 'closed')
    await core.context.store.admit(aid, true)
    for (const one of [aid, other])
      await expect(admission.checkOpen(one)).rejects.toThrow('admissionRequired')
  })
})
