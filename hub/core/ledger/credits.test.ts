/** Credits of a hub in memory, by a clock that stands still: edges in time, what is given back, how a hold ends. */
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { encodeKel } from '../../../protocol/identity/kel.ts'
import {
  Authorization,
  type AuthorizationBody,
  HoldOrder,
  networkOf,
  redemptionPurpose,
  transactionOf,
} from '../../../protocol/proof/payment.ts'
import { RESTORED_SETTING } from '../../store/ledger-port.ts'
import { agentOf, openCore, type TestCore } from '../../testing/core.ts'
import { random, type TestAgent } from '../../testing/hub.ts'
import { agentRow } from '../../testing/store-contract.ts'
import { type Agent, Agents, readAgent, withLog } from '../agents.ts'
import { cachesInProcess } from '../in-process/caches.ts'
import { DAY_MS } from '../limits.ts'
import { SupplyChain } from '../supply/chain.ts'
import { Credits } from './credits.ts'
import { HoldClock } from './hold-clock.ts'
import { Issuance } from './issuance.ts'
import { Statements } from './statements.ts'
import type { PaymentRequest } from './terms.ts'

const START_MS = 1_800_000_000_000
const MINUTE_MS = 60_000
const TRIAL = 5

let core: TestCore
let nowMs: number
let agents: Agents
let credits: Credits
let issuance: Issuance
let statements: Statements
let alice: TestAgent
let bob: TestAgent
beforeAll(async () => {
  core = await openCore(START_MS, { trialCredits: TRIAL, trialBudget: 2 * TRIAL })
  agents = new Agents(core.context)
  const supply = await SupplyChain.open(core.context)
  credits = new Credits(core.context, { agents, supply, clock: await HoldClock.open(core.context, 0) })
  issuance = new Issuance(core.context, supply)
  statements = new Statements(core.context)
})
afterAll(() => core.close())
/** Two agents of their own for each test, on a day of its own. */
beforeEach(async () => {
  core.clock.ms += DAY_MS
  await credits.holds.clock.accept()
  nowMs = core.clock.ms
  ;[alice, bob] = [await someone(), await someone()]
  await issuance.grant(alice.aid, 100, random(16))
})

/** An agent of this hub. */
async function someone(registered = true): Promise<TestAgent> {
  const one = agentOf(core)
  const row = agentRow(one.aid, { kel: encodeKel(one.log.events), card: undefined, registered })
  await agents.update(one.aid, () => readAgent(row))
  return one
}

type Paying = Partial<AuthorizationBody> & { seconds?: number; seed?: Uint8Array; reference?: string }
type Paid = { request: PaymentRequest; id: Uint8Array }
function pay(from: TestAgent, to: string, amount: number, more: Paying = {}): Paid {
  const { seconds, seed = from.seed, reference, ...members } = more
  const notAfter = members.notAfter ?? core.clock.ms + 30 * MINUTE_MS
  const network = networkOf(core.context.identity.aid)
  const authorization = Authorization.sign(seed, {
    v: 1,
    payer: from.aid,
    payerKelSeq: from.log.seq,
    payTo: to,
    amount,
    network,
    nonce: random(16),
    notBefore: core.clock.ms,
    ...(seconds === undefined ? {} : { holdUntil: notAfter + seconds * 1000 }),
    ...(reference === undefined ? {} : { purpose: redemptionPurpose(reference) }),
    ...members,
    notAfter,
  })
  const extra = seconds === undefined ? undefined : { hold_s: seconds }
  const terms = { scheme: 'svc-credit', asset: 'credit', amount: String(amount), payTo: to, network, extra }
  return {
    request: {
      versions: [2],
      accepted: terms,
      required: reference === undefined ? terms : undefined,
      authorization: Authorization.encode(authorization),
      reference,
    },
    id: transactionOf(authorization),
  }
}
const redemption = (from: TestAgent, amount: number, reference: string, more: Paying = {}) => {
  const { request, id } = pay(from, core.context.identity.aid, amount, { ...more, reference })
  return { request: { ...request, reference }, id }
}
const order = (
  by: TestAgent,
  transaction: Uint8Array,
  amount: number,
  payeeKelSeq = by.log.seq,
  seed = by.seed,
) =>
  HoldOrder.encode(
    HoldOrder.sign(seed, { v: 1, transaction, amount, payee: by.aid, payeeKelSeq, madeAt: core.clock.ms }),
  )
/** The sentence with which something is refused. */
async function said(work: Promise<unknown>): Promise<string | undefined> {
  return await work.then(
    () => undefined,
    (error: Error) => error.message,
  )
}
/** What both ways to look at a payment say, which is the same. */
async function refused({ request }: Paid): Promise<string | undefined> {
  const why = await said(credits.verify(request))
  expect(await said(credits.settle(request))).toBe(why)
  return why
}
const has = async (one: TestAgent) => {
  const { balance, held } = await credits.balance(one.aid)
  return [balance, held]
}

describe('the time of an authorization', () => {
  const times = (notBefore: number, notAfter: number) =>
    refused(pay(alice, bob.aid, 1, { notBefore: nowMs + notBefore, notAfter: nowMs + notAfter }))

  test('begins and ends two minutes later or earlier by the clock of another, to the millisecond', async () => {
    expect(await times(2 * MINUTE_MS + 1, 3 * MINUTE_MS)).toMatch('it is not valid yet')
    expect(await times(2 * MINUTE_MS, 3 * MINUTE_MS)).toBeUndefined()
    expect(await times(-3 * MINUTE_MS, -2 * MINUTE_MS - 1)).toMatch('its time is over')
    const last = pay(alice, bob.aid, 1, {
      notBefore: nowMs - 3 * MINUTE_MS,
      notAfter: nowMs - 2 * MINUTE_MS,
    })
    expect(await said(credits.settle(last.request))).toBeUndefined()
  })

  test('does not begin before this hub was restored: it may have been settled then', async () => {
    await core.context.store.putSetting(RESTORED_SETTING, String(nowMs))
    expect(await times(-1, MINUTE_MS)).toMatch('it was made before this hub was restored')
    expect(await said(credits.settle(pay(alice, bob.aid, 1).request))).toBeUndefined()
    await core.context.store.putSetting(RESTORED_SETTING, '0')
  })
})

describe('a payment', () => {
  test('takes all that there is and no more', async () => {
    expect(await refused(pay(alice, bob.aid, 101))).toMatch('too few credits')
    expect(await said(credits.verify(pay(alice, bob.aid, 100).request))).toBeUndefined()
    await credits.settle(pay(alice, bob.aid, 100).request)
    expect([await has(alice), await has(bob)]).toEqual([
      [0, 0],
      [100, 0],
    ])
  })

  test.each([
    ['oneself', () => alice.aid, 'payer and payee are one'],
    ['nobody here', () => agentOf(core).aid, 'the payee is not registered here'],
    ['the hub', () => core.context.identity.aid, 'the hub itself is paid by a redemption'],
  ])('to %s is refused with its own sentence', async (_, to, why) => {
    expect(await refused(pay(alice, to(), 1))).toMatch(why)
  })

  test('by or to somebody who has left: one may pay still, and is not paid any more', async () => {
    const gone = await someone(false)
    await issuance.grant(gone.aid, 3, random(16))
    expect(await refused(pay(alice, gone.aid, 1))).toMatch('the payee is not registered here')
    expect(await said(credits.settle(pay(gone, bob.aid, 3).request))).toBeUndefined()
  })

  test('by an identity that has ended is refused, as by one that is not known', async () => {
    const ended = agentOf(core)
    ended.end()
    const row = agentRow(ended.aid, { kel: encodeKel(ended.log.events), card: undefined })
    await agents.update(ended.aid, () => readAgent(row))
    expect(await refused(pay(ended, bob.aid, 1))).toMatch('the payer has no account here')
    expect(await refused(pay(agentOf(core), bob.aid, 1))).toMatch('the payer has no account here')
  })

  test('needs the newest key of its payer', async () => {
    expect(await refused(pay(alice, bob.aid, 1, { seed: random(32) }))).toMatch('signature does not hold')
    expect(await refused(pay(alice, bob.aid, 1, { payerKelSeq: 1 }))).toMatch('signature does not hold')
  })

  test.each([
    ['its payer changes its key', 'signature does not hold', 'key', 0],
    ['its payer changes its profile', 'settled', 'profile', 0],
    ['its payee leaves', 'the payee is not registered here', 'leaving', 1],
  ] as const)('is judged anew where in another process %s meanwhile', async (_, why, change, whose) => {
    const others = new Agents({ ...core.context, memory: { caches: cachesInProcess() } })
    const { request: paid } = pay(alice, bob.aid, 5)
    const { store } = core.context
    const post = store.post
    const posted = vi.spyOn(store, 'post').mockImplementationOnce(async posting => {
      const one = whose === 0 ? alice : bob
      if (change === 'key') one.rotate()
      await others.update(one.aid, held => {
        const agent = held as Agent
        if (change === 'key') return withLog(agent, one.log)
        const row = change === 'leaving' ? { registered: false } : { name: 'other' }
        return { ...agent, row: { ...agent.row, ...row } }
      })
      return await post(posting)
    })
    expect((await said(credits.settle(paid))) ?? 'settled').toMatch(why)
    expect(posted).toHaveBeenCalledTimes(why === 'settled' ? 2 : 1)
    posted.mockRestore()
    expect((await credits.balance(alice.aid)).balance).toBe(why === 'settled' ? 95 : 100)
  })

  test('waits while the books do not agree, and so do redemptions and the ends of holds', async () => {
    const held = pay(alice, bob.aid, 10, { seconds: 60 })
    await credits.settle(held.request)
    credits.stopped = true
    for (const work of [
      credits.settle(pay(alice, bob.aid, 1).request),
      credits.redeem(redemption(alice, 1, 'x').request),
      credits.end(order(bob, held.id, 10), false),
    ])
      await expect(work).rejects.toMatchObject({ code: 'overloaded' })
    credits.stopped = false
    expect(await has(alice)).toEqual([90, 10])
  })
})

describe('what is given back', () => {
  const back = (from: TestAgent, to: TestAgent, amount: number, refundOf: Uint8Array) =>
    refused(pay(from, to.aid, amount, { refundOf }))

  test('is of a payment that there was, between the same two, and no refund itself', async () => {
    const paid = pay(alice, bob.aid, 30)
    await credits.settle(paid.request)
    const carol = await someone()
    await issuance.grant(carol.aid, 9, random(16))
    expect(await back(bob, alice, 1, pay(alice, bob.aid, 1).id)).toMatch('no payment has this transaction')
    expect(await back(carol, alice, 1, paid.id)).toMatch('the payment was made between others')
    expect(await back(bob, carol, 1, paid.id)).toMatch('the payment was made between others')
    expect(await back(alice, bob, 1, paid.id)).toMatch('the payment was made between others')
    const refund = pay(bob, alice.aid, 10, { refundOf: paid.id })
    await credits.settle(refund.request)
    expect(await back(alice, bob, 1, refund.id)).toMatch('a refund is not given back')
    const taken = redemption(alice, 5, 'x')
    await credits.redeem(taken.request)
    expect(await back(bob, alice, 1, taken.id)).toMatch('no payment has this transaction')
  })

  test('is all that was paid and no more, and reaches one that has left but nobody else', async () => {
    const gone = await someone(false)
    await issuance.grant(gone.aid, 30, random(16))
    const paid = pay(gone, bob.aid, 30)
    await credits.settle(paid.request)
    await issuance.grant(bob.aid, 30, random(16))
    const refund = (amount: number) =>
      said(credits.settle(pay(bob, gone.aid, amount, { refundOf: paid.id }).request))
    expect(await refund(31)).toMatch('more would be given back than was paid')
    expect(await refund(30)).toBeUndefined()
    expect(await refund(1)).toMatch('more would be given back than was paid')
  })

  test('of a hold is what was captured of it, once something was', async () => {
    const held = pay(alice, bob.aid, 30, { seconds: 60 })
    await credits.settle(held.request)
    await issuance.grant(bob.aid, 30, random(16))
    expect(await back(bob, alice, 1, held.id)).toMatch('nothing was captured of this hold')
    await credits.end(order(bob, held.id, 20), false)
    const refund = (amount: number) =>
      said(credits.settle(pay(bob, alice.aid, amount, { refundOf: held.id }).request))
    expect(await refund(21)).toMatch('more would be given back than was paid')
    expect(await refund(20)).toBeUndefined()
    const small = pay(alice, bob.aid, 5, { seconds: 60 })
    await credits.settle(small.request)
    await credits.end(order(bob, small.id, 1), false)
    const one = pay(bob, alice.aid, 1, { refundOf: small.id })
    expect(await said(credits.settle(one.request))).toBeUndefined()
    const released = pay(alice, bob.aid, 30, { seconds: 60 })
    await credits.settle(released.request)
    await credits.end(order(bob, released.id, 0), true)
    expect(await back(bob, alice, 1, released.id)).toMatch('nothing was captured of this hold')
  })
})

describe('a hold', () => {
  const hold = async (amount = 30) => {
    const paid = pay(alice, bob.aid, amount, { seconds: 60 })
    await credits.settle(paid.request)
    const until = core.clock.ms + 31 * MINUTE_MS
    return { ...paid, until }
  }
  const ends = (bytes: Uint8Array, releases = false) => said(credits.end(bytes, releases))

  test('can be captured until its last millisecond, and is back from then on', async () => {
    const [early, late] = [await hold(), await hold()]
    core.clock.ms = early.until - 1
    expect(await has(alice)).toEqual([40, 60])
    expect(await ends(order(bob, early.id, 30))).toBeUndefined()
    core.clock.ms = late.until
    expect(await has(alice)).toEqual([70, 0])
    expect(await ends(order(bob, late.id, 30))).toMatch('the hold has ended already')
    expect([await has(alice), await has(bob)]).toEqual([
      [70, 0],
      [30, 0],
    ])
  })

  test('that has lapsed may be released still, which gives back nothing more', async () => {
    const { id, until } = await hold()
    core.clock.ms = until
    expect((await credits.end(order(bob, id, 0), true)).body).toMatchObject({ kind: 3, amount: 30 })
    expect(await has(alice)).toEqual([100, 0])
  })

  test('is captured to its last credit, and a smaller part leaves the rest to its payer', async () => {
    const [whole, part] = [await hold(), await hold()]
    expect((await credits.end(order(bob, whole.id, 30), false)).body).toMatchObject({ kind: 2, amount: 30 })
    expect((await credits.end(order(bob, part.id, 1), false)).body).toMatchObject({ kind: 2, amount: 1 })
    expect([await has(alice), await has(bob)]).toEqual([
      [69, 0],
      [31, 0],
    ])
  })

  test('ends once: the same order gets the same receipt, another one is told so', async () => {
    const { id } = await hold()
    const first = await credits.end(order(bob, id, 20), false)
    expect((await credits.end(order(bob, id, 20), false)).bytes).toEqual(first.bytes)
    expect(await ends(order(bob, id, 19))).toMatch('the hold has ended already')
    expect(await ends(order(bob, id, 0), true)).toMatch('the hold has ended already')
  })

  test.each([
    ['taken', 30],
    ['given back', 0],
  ])(
    'that was %s answers the same order with the stored receipt under whatever key it is signed',
    async (_, amount) => {
      const { id } = await hold()
      const first = await credits.end(order(bob, id, amount), amount === 0)
      const again = (taken: number) => order(bob, id, taken, bob.log.seq + 1, random(32))
      expect((await credits.end(again(amount), amount === 0)).bytes).toEqual(first.bytes)
      expect(await ends(again(7))).toMatch('the hold has ended already')
    },
  )

  test('that has lapsed tells so to an order of before a rotation', async () => {
    const { id, until } = await hold()
    core.clock.ms = until
    const release = order(bob, id, 0, bob.log.seq + 1, random(32))
    expect((await credits.end(release, true)).body).toMatchObject({ kind: 3, amount: 30 })
  })

  test.each([
    ['a capture of nothing', (id: Uint8Array) => ends(order(bob, id, 0)), 'a capture takes at least one'],
    [
      'a release of something',
      (id: Uint8Array) => ends(order(bob, id, 1), true),
      'a release captures nothing',
    ],
    ['a capture of more', (id: Uint8Array) => ends(order(bob, id, 31)), 'more is captured than was held'],
    ['its payer', (id: Uint8Array) => ends(order(alice, id, 30)), 'the order is not by the payee'],
    ['an older or newer key', (id: Uint8Array) => ends(order(bob, id, 30, 1)), 'signature does not hold'],
    ['bytes that are no order', () => ends(new Uint8Array(3)), 'the payment is malformed'],
  ])('is not ended by %s', async (_, end, why) => {
    const { id } = await hold()
    expect(await end(id)).toMatch(why)
    expect(await has(alice)).toEqual([70, 30])
  })

  test('is none where a payment was made at once, or nothing at all', async () => {
    const paid = pay(alice, bob.aid, 1)
    expect(await ends(order(bob, paid.id, 1))).toMatch('no hold has this transaction')
    await credits.settle(paid.request)
    expect(await ends(order(bob, paid.id, 1))).toMatch('no hold has this transaction')
  })

  test('that has lapsed is given back by the sweep, not a millisecond before', async () => {
    for (let n = 0; n < 3; n++) await hold(1)
    core.clock.ms += 31 * MINUTE_MS - 1
    expect(await core.context.store.lapsedHolds(core.clock.ms, 10, alice.aid)).toEqual([])
    core.clock.ms += 1
    expect(await credits.holds.lapse()).toBe(false)
    expect(await core.context.store.lapsedHolds(core.clock.ms, 10, alice.aid)).toEqual([])
    expect((await core.context.store.holdings(alice.aid, core.clock.ms)).balance).toBe(100)
  })
})

describe('a redemption', () => {
  test('is made once, under the reference that was signed, and told again', async () => {
    const { request } = redemption(alice, 40, 'invoice 7')
    const first = await credits.redeem(request)
    expect(first.body).toMatchObject({ kind: 4, amount: 40, payee: core.context.identity.aid })
    expect((await credits.redeem(request)).bytes).toEqual(first.bytes)
    expect(await said(credits.redeem({ ...request, reference: 'invoice 8' }))).toMatch(
      'the purpose is not this reference',
    )
    expect(await has(alice)).toEqual([60, 0])
    expect(await statements.referenceOf(first)).toBe('invoice 7')
  })

  test('and a payment are not made of one authorization', async () => {
    const { request, id } = redemption(alice, 5, 'x')
    await credits.redeem(request)
    const { required } = pay(alice, core.context.identity.aid, 5).request
    expect(await said(credits.settle({ ...request, required }))).toMatch('this authorization was redeemed')
    expect(id.length).toBe(36)
    const paid = pay(alice, bob.aid, 5, { purpose: redemptionPurpose('x') })
    await credits.settle(paid.request)
    expect(await said(credits.redeem({ ...paid.request, reference: 'x' }))).toMatch(
      'was settled as a payment',
    )
  })

  test('is of what there is, and is paid to the hub', async () => {
    expect(await said(credits.redeem(redemption(alice, 101, 'x').request))).toMatch('too few credits')
    const { request } = pay(alice, bob.aid, 1, { reference: 'x' })
    expect(await said(credits.redeem({ ...request, reference: 'x' }))).toMatch(
      'a redemption is paid to the hub',
    )
  })
})

describe('credits that come to be', () => {
  test('are granted once for each order, which stands for nothing else', async () => {
    const command = random(16)
    expect(await issuance.grant(bob.aid, 7, command)).toBe('given')
    expect(await issuance.grant(bob.aid, 7, command)).toBe('repeated')
    expect(await issuance.grant(bob.aid, 8, command)).toBe('other')
    expect(await issuance.grant(alice.aid, 7, command)).toBe('other')
    expect(await has(bob)).toEqual([7, 0])
  })

  test('on trial come once: at once to whom the operator let in, later to one that came by work', async () => {
    expect(await issuance.trialOfNew(bob.aid, true)).toBe('pending')
    expect(await has(bob)).toEqual([0, 0])
    expect(await issuance.trialOfNew(bob.aid, false)).toBe('granted')
    for (const byWork of [false, true]) expect(await issuance.trialOfNew(bob.aid, byWork)).toBe('granted')
    expect(await has(bob)).toEqual([TRIAL, 0])
  })

  test('on trial come to so many a day, and to the others the day after', async () => {
    const some = [await someone(), await someone(), await someone()] as const
    const given = () => Promise.all(some.map(({ aid }) => issuance.trialOf(aid)))
    const results: boolean[] = []
    for (const { aid } of some) results.push(await issuance.trial(aid, true))
    expect(results).toEqual([true, true, false])
    expect(await given()).toEqual(['granted', 'granted', 'pending'])
    expect(await issuance.trialOfNew((await someone()).aid, false)).toBe('granted')
    core.clock.ms += DAY_MS - (core.clock.ms % DAY_MS)
    expect(await issuance.trial(some[2].aid, true)).toBe(true)
    expect(await issuance.trial((await someone()).aid, false)).toBe(true)
  })

  test('on trial are nothing to speak of where a hub gives none', async () => {
    core.context.limits.trialCredits = 0
    expect(await issuance.trialOf(bob.aid)).toBeUndefined()
    expect(await issuance.trialOfNew(bob.aid, false)).toBeUndefined()
    core.context.limits.trialCredits = 1
    expect(await issuance.trialOf(bob.aid)).toBe('pending')
    core.context.limits.trialCredits = TRIAL
  })
})

describe('the statement of an account', () => {
  const lines = async (one: TestAgent, limit = 10, before?: number) => {
    const { entries, next } = await statements.entries(one.aid, { limit, before })
    return { said: entries.map(({ reason, delta }) => [reason, delta]), next }
  }

  test('says what moved from its own side, down to a single credit', async () => {
    await credits.settle(pay(alice, bob.aid, 1).request)
    expect((await lines(alice)).said).toEqual([
      ['paid', -1],
      ['grant', 100],
    ])
    expect((await lines(bob)).said).toEqual([['received', 1]])
  })

  test('goes on with the next page only where there is more', async () => {
    await credits.settle(pay(alice, bob.aid, 1).request)
    expect((await lines(alice, 2)).next).toBeUndefined()
    const first = await lines(alice, 1)
    expect(first.said).toEqual([['paid', -1]])
    const second = await lines(alice, 1, Number(first.next))
    expect(second).toEqual({ said: [['grant', 100]], next: undefined })
  })

  test('has the last fourteen days', async () => {
    core.clock.ms += 14 * DAY_MS
    expect((await lines(alice)).said).toEqual([['grant', 100]])
    core.clock.ms += 1
    expect(await statements.entries(alice.aid, { limit: 10, before: undefined })).toEqual({
      windowDays: 14,
      oldestSeq: undefined,
      entries: [],
      next: undefined,
    })
  })

  test('lists redemptions with their references apart from everything else', async () => {
    await credits.settle(pay(alice, bob.aid, 1).request)
    await credits.redeem(redemption(alice, 2, 'invoice 7').request)
    const { entries } = await statements.redemptions(alice.aid, { limit: 10, before: undefined })
    expect(entries.map(({ reference, settled }) => [reference, settled.body.amount])).toEqual([
      ['invoice 7', 2],
    ])
  })
})
