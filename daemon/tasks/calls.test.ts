import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { contentId } from '../../protocol/crypto/hash.ts'
import { fromUtf8, utf8 } from '../../protocol/encoding/bytes.ts'
import { decodePayload, kinds } from '../../protocol/mail/payload.ts'
import { buildEffect } from '../../protocol/proof/effect.ts'
import {
  Authorization,
  type AuthorizationBody,
  HoldOrder,
  networkOf,
  type SettlementKind,
  SettlementReceipt,
  settlementKinds,
  transactionOf,
} from '../../protocol/proof/payment.ts'
import { TASK } from '../../protocol/proof/quote.ts'
import { type CallOutcome, type CapabilityCall, type Provider, runProvider } from '../modules/provider.ts'
import type { Payee } from '../payments/payee.ts'
import { openPrice } from '../payments/priced-tasks.ts'
import { payeeOf } from '../payments/x402.ts'
import { markCallBegun } from '../store/interactions.ts'
import { paymentOf } from '../store/payments.ts'
import type { Message } from '../store/threads.ts'
import { DAY_MS, HOUR_MS, type TestNode, TestWorld } from '../testing/node.ts'
import { HUB_SEED } from '../testing/scripted-hub.ts'
import type { Calls } from './calls.ts'
import { openCalls } from './open.ts'

const COUNT = 'words.count'

/** A call that was begun and waits to be told what came of it. */
type Running = CapabilityCall & { end(outcome?: CallOutcome): void }

let world: TestWorld
let alice: TestNode
let bob: TestNode
let calls: Calls
let payee: Payee
let running: Running[]
let prices: Record<string, number>
let served: Record<string, Provider>

const counted: CallOutcome = { status: 'OK', metrics: { words: 3 } }
const provider = (changes: Partial<Provider> = {}): Provider => ({
  capability: COUNT,
  summary: 'counts words',
  published: true,
  timeoutMs: 1_800_000,
  trust: { verify: 2, auth: 2 },
  run: call => new Promise(end => running.push({ ...call, end: (outcome = counted) => end(outcome) })),
  ...changes,
})

beforeEach(async () => {
  world = new TestWorld()
  ;({ alice, bob } = await world.pair())
  running = []
  prices = {}
  served = { [COUNT]: provider() }
  Object.assign(bob.ctx, { modules: modules() })
  payee = payeeOf(bob.ctx)
  calls = openCalls(bob.ctx, modules(), payee)
})
afterEach(async () => {
  const stopping = [calls.stop(), payee.stop()]
  for (const call of running) call.end()
  await Promise.all(stopping)
  await world[Symbol.asyncDispose]()
})

/** The modules of a build that serves what a test says. */
function modules() {
  return {
    serves: (capability: string) => capability in served,
    find: (capability: string) => served[capability],
    priceOf: (what: string) => prices[what],
    startsOf: () => undefined,
    offered: () => Object.keys(served),
    run: (by: Provider, call: CapabilityCall) => runProvider(by, call, bob.ctx),
  }
}

async function called(args = { text: 'a b c' }, from = alice): Promise<string> {
  const id = from.tasks.delegation.delegate({ to: bob.aid, capability: COUNT, args })
  await world.settle()
  return id
}
/** A call over a local interface. */
function calledHere(caller: string, authorization?: Uint8Array): string {
  const id = Buffer.from(bob.ctx.random(16)).toString('base64url')
  const given = { id, caller, capability: COUNT, args: { text: id }, authorization }
  bob.within(() => bob.tasks.localCalls.take(given))
  return id
}
const SOON = { timeout: 5000, interval: 5 }
const begun = (count: number) => expect.poll(() => running.length, SOON).toBe(count)
const over = (id: string) => expect.poll(() => bob.thread(id).state, SOON).not.toBe('open')
/** What is woken has had its turn. */
async function aTurn(): Promise<void> {
  bob.ctx.wakers.calls.wake()
  for (let n = 0; n < 3; n++) await new Promise(setImmediate)
}
const ANSWERS: readonly number[] = [kinds.message, kinds.result, kinds.quote]
const answersOf = (id: string) =>
  bob.messages(id).filter(({ direction, kind }) => direction === 'out' && ANSWERS.includes(kind))
const document = ({ kind, payload }: Message): Record<string, unknown> => {
  const decoded = decodePayload(kind, payload).payload
  return 'document' in decoded ? JSON.parse(fromUtf8(decoded.document)) : {}
}
const answerOf = (id: string) => document(answersOf(id)[0] as Message)
const isBegun = (id: string) => bob.thread(id).callBegun === 1
const again = () => {
  calls = openCalls(bob.ctx, modules(), payee)
  calls.start()
}

describe('a call', () => {
  test('is run once, with its arguments and its caller, and answered with what came of it', async () => {
    calls.start()
    const id = await called()
    await begun(1)
    expect(running[0]).toMatchObject({ capability: COUNT, args: { text: 'a b c' }, caller: alice.aid })
    expect(isBegun(id)).toBe(true)
    await aTurn()
    expect(running).toHaveLength(1)
    running[0]?.end()
    await over(id)
    expect(answersOf(id)).toHaveLength(1)
    expect(answerOf(id)).toMatchObject({ status: 'OK', metrics: { words: 3 } })
    expect(bob.thread(id)).toMatchObject({ state: 'end_proposed', endBy: 'me' })
    expect(isBegun(id)).toBe(false)
  })

  test('keeps what a private provider observed out of the evidence', async () => {
    const run = async (): Promise<CallOutcome> => ({ ...counted, observedState: 'three' })
    const observed = () =>
      bob.ctx.chain
        .read({ eventType: 'svc.capability.effect' })
        .map(
          record => (record['payload'] as { evidence: Record<string, unknown> }).evidence['observed_state'],
        )
    calls.start()
    served[COUNT] = provider({ run })
    await over(await called())
    served[COUNT] = provider({ run, isPrivate: true })
    await over(await called())
    expect(observed()).toEqual(['three', undefined])
  })

  test('of what is served no longer is answered as that, and not run', async () => {
    const id = await called()
    served = {}
    calls.start()
    await over(id)
    expect(answerOf(id)).toMatchObject({
      status: 'UNAVAILABLE',
      message: `this node does not serve ${COUNT}`,
    })
  })

  test('that its caller ended before it was begun is not run, and its end accepted', async () => {
    const id = await called()
    alice.within(() => alice.tasks.endings.propose(alice.thread(id)))
    await world.settle()
    calls.start()
    await expect.poll(() => bob.thread(id).state, SOON).toBe('ended')
    expect([running.length, answersOf(id).length]).toEqual([0, 0])
  })

  test.each([
    [
      'withdrew',
      (id: string) => alice.within(() => alice.tasks.leaving.cancel(alice.thread(id), 'not needed')),
      'cancelled',
    ],
    ['ended', (id: string) => alice.within(() => alice.tasks.endings.propose(alice.thread(id))), 'ended'],
  ] as const)('that its caller %s while it ran gets no answer', async (_, leave, state) => {
    calls.start()
    const id = await called()
    await begun(1)
    leave(id)
    await world.settle()
    running[0]?.end()
    await expect.poll(() => [bob.thread(id).state, isBegun(id)], SOON).toEqual([state, false])
    expect(answersOf(id)).toEqual([])
  })

  test('that a person answered while it ran gets no second answer', async () => {
    calls.start()
    const id = await called()
    await begun(1)
    bob.say(id, 'three, I counted them')
    running[0]?.end()
    await expect.poll(() => isBegun(id), SOON).toBe(false)
    expect(answersOf(id).map(({ text }) => text)).toEqual(['three, I counted them'])
    expect(bob.thread(id).state).toBe('open')
  })

  test.each([
    ['an older copy', () => Object.assign(bob.ctx.hub, { oldCopy: 'a newer copy was seen' })],
    ['an ended identity', () => bob.ctx.identity.deactivate(world.clock.ms + 1)],
  ] as const)('is left alone by %s', async (_, ends) => {
    await called()
    ends()
    calls.start()
    await aTurn()
    expect(running).toEqual([])
  })

  test('that the node stopped is told so at the next start, and not run again', async () => {
    calls.start()
    const [id, waiting] = [await called(), await called({ text: 'other' })]
    const third = await called({ text: 'third' })
    await begun(2)
    const stopping = calls.stop()
    expect(running.map(({ signal }) => signal.aborted)).toEqual([true, true])
    for (const call of running) call.end()
    await stopping
    expect([id, waiting, third].flatMap(answersOf)).toEqual([])
    running = []
    again()
    for (const one of [id, waiting])
      expect(answerOf(one)).toMatchObject({
        status: 'FAILED',
        message: 'the node stopped while this ran; whether it took effect is not known',
      })
    await begun(1)
    expect(running[0]?.args).toEqual({ text: 'third' })
  })
})

describe('of calls that wait', () => {
  test('that a copy of this node which is lost may have answered waits for what its caller holds', async () => {
    const id = await called()
    const doubt = { numbering: 'asking', certainTo: 0 } as const
    bob.within(() => bob.ctx.threads.update(bob.thread(id), doubt))
    calls.start()
    await aTurn()
    expect(running).toHaveLength(0)
    bob.askNumbers()
    await world.settle()
    await begun(1)
    running[0]?.end()
    await over(id)
    expect(answersOf(id)).toHaveLength(1)
  })

  test('that the node stopped is told so after a restore only where no copy that is lost has answered', async () => {
    const [answered, open] = [await called(), await called({ text: 'd e' })]
    for (const id of [answered, open])
      bob.within(() => markCallBegun(bob.ctx.store, bob.thread(id).key, true))
    const archive = world.archive(bob)
    const made = world.clock.ms
    bob.within(() =>
      bob.tasks.effects.answer(bob.thread(answered), buildEffect({ status: 'OK', message: 'counted' })),
    )
    await world.settle()
    bob = await world.restore(bob, archive, made)
    Object.assign(bob.ctx, { modules: modules() })
    calls = openCalls(bob.ctx, modules(), payeeOf(bob.ctx))
    calls.start()
    await aTurn()
    expect(answersOf(open)).toHaveLength(0)
    bob.askNumbers()
    await world.settle()
    await over(open)
    expect(answerOf(open)).toMatchObject({ status: 'FAILED' })
    const results = alice.messages(answered).filter(({ kind }) => kind === kinds.result)
    expect(results).toHaveLength(1)
    expect(running).toHaveLength(0)
  })

  test('two of one peer run at a time, whatever it sent, and others are not held up', async () => {
    const [eve, eric] = ['eve', 'eric'].map(name => `A${name.padEnd(43, 'a')}`) as [string, string]
    for (let n = 0; n < 4; n++) calledHere(eve)
    calledHere(eric)
    const callers = () => running.map(({ caller }) => caller)
    calls.start()
    await aTurn()
    expect(callers().sort()).toEqual([eric, eve, eve].sort())
    running.find(({ caller }) => caller === eve)?.end()
    await begun(4)
    expect(callers().filter(caller => caller === eve)).toHaveLength(3)
  })

  test('eight run at once, and the next one when one of them has ended', async () => {
    for (const name of ['a', 'b', 'c', 'd', 'e'])
      for (let n = 0; n < 2; n++) calledHere(`A${name.repeat(43)}`)
    calls.start()
    await aTurn()
    expect(running).toHaveLength(8)
    running[0]?.end()
    await begun(9)
  })
})

describe('a call over a local interface', () => {
  test('is run and answered like one of mail, and is over with its answer', async () => {
    calls.start()
    const id = calledHere(bob.aid)
    await begun(1)
    expect(running[0]).toMatchObject({ caller: bob.aid, args: { text: id } })
    running[0]?.end()
    await over(id)
    expect(bob.thread(id)).toMatchObject({ state: 'ended', endBy: 'me', ownLast: 1 })
    expect(answerOf(id)).toMatchObject({ status: 'OK' })
    expect(bob.heard).toContainEqual({
      type: 'inbox',
      data: { interaction_id: id, peer: bob.aid, state: 'open' },
    })
    expect(bob.heard).toContainEqual({
      type: 'message',
      data: { interaction_id: id, peer: bob.aid, state: 'ended' },
    })
  })

  test('shows the first 200 characters of what was asked', () => {
    const id = Buffer.from(bob.ctx.random(16)).toString('base64url')
    const args = { text: 'x'.repeat(300) }
    const given = { id, caller: bob.aid, capability: COUNT, args, authorization: undefined }
    const { preview } = bob.within(() => bob.tasks.localCalls.take(given))
    expect(preview).toBe(`${COUNT} ${JSON.stringify(args)}`.slice(0, 200))
  })
})

/** What the hub signs of a payment. */
function receipt(encoded: Uint8Array, kind: SettlementKind, amount?: number): Uint8Array {
  const authorization = Authorization.decode(encoded)
  const { body } = authorization
  const signed = SettlementReceipt.sign(HUB_SEED, {
    v: 1,
    transaction: transactionOf(authorization),
    kind,
    payer: body.payer,
    payee: body.payTo,
    amount: amount ?? body.amount,
    network: body.network,
    settledAt: world.clock.ms,
    hub: bob.hub.identity.aid,
    hubKelSeq: 0,
    supplyHead: [0, contentId(utf8('head'))],
    ...(kind === settlementKinds.held && { holdUntil: body.holdUntil as number }),
  })
  return SettlementReceipt.encode(signed)
}

/** A hub with credits: it holds what it is asked for and ends holds, as often as it is asked. */
function credits() {
  const asked: string[] = []
  let held = new Uint8Array()
  Object.assign(bob.hub.credits, {
    settle: async (authorization: Uint8Array) => {
      asked.push('hold')
      held = Uint8Array.from(authorization)
      return { receipt: receipt(authorization, settlementKinds.held) }
    },
    endHold: async (order: Uint8Array) => {
      const { amount } = HoldOrder.decode(order).body
      asked.push(amount === 0 ? 'release' : 'capture')
      const kind = amount === 0 ? settlementKinds.returned : settlementKinds.captured
      return { receipt: receipt(held, kind) }
    },
  })
  return asked
}

/** What pays for a call over a local interface, which names no purpose. */
function authorized(changes: Partial<AuthorizationBody> = {}, seconds = 1800): Uint8Array {
  const notAfter = world.clock.ms + HOUR_MS / 2
  const authorization = Authorization.sign(alice.ctx.identity.seed, {
    v: 1,
    payer: alice.aid,
    payerKelSeq: alice.ctx.identity.log.seq,
    payTo: bob.aid,
    amount: 3,
    network: networkOf(bob.hub.identity.aid),
    nonce: bob.ctx.random(16),
    notBefore: world.clock.ms,
    notAfter,
    holdUntil: notAfter + seconds * 1000 + HOUR_MS,
    ...changes,
  })
  return Authorization.encode(authorization)
}
const paymentFor = (id: string) => paymentOf(bob.ctx.store, bob.thread(id).key)

describe('a call that has a price', () => {
  beforeEach(() => {
    prices[COUNT] = 3
  })

  test('is answered with that price where nothing came to pay it, and not run', async () => {
    calls.start()
    const id = await called()
    await over(id)
    expect(answersOf(id)[0]?.kind).toBe(kinds.quote)
    expect(answerOf(id)).toMatchObject({
      status: 'PAYMENT_REQUIRED',
      payment_required: {
        accepts: [{ amount: '3', network: networkOf(bob.hub.identity.aid), extra: { hold_s: 5400 } }],
      },
    })
    expect(running).toEqual([])
  })

  test('says what is wrong with what came to pay it', async () => {
    calls.start()
    const id = calledHere(alice.aid, authorized({ amount: 2 }))
    await over(id)
    expect(answerOf(id)['message']).toMatch(/costs 3 credits .*, and 2 came$/)
    expect(paymentFor(id)).toBeUndefined()
  })

  test('is run once its credits are held, and they are taken before the answer leaves with the receipts', async () => {
    const asked = credits()
    calls.start()
    const id = calledHere(alice.aid, authorized())
    await begun(1)
    expect(asked).toEqual(['hold'])
    running[0]?.end()
    await over(id)
    expect(asked).toEqual(['hold', 'capture'])
    expect(answerOf(id)).toMatchObject({ status: 'OK' })
    const [answer] = answersOf(id) as [Message]
    expect(decodePayload(answer.kind, answer.payload).payload).toMatchObject({
      settlements: [paymentFor(id)?.heldReceipt, paymentFor(id)?.endReceipt],
    })
    expect(paymentFor(id)).toMatchObject({ state: 'ended', moved: 3 })
  })

  test('is paid for all the same when the price was taken away meanwhile, and when nobody serves it any more', async () => {
    const asked = credits()
    calls.start()
    const id = calledHere(alice.aid, authorized())
    await begun(1)
    const stopping = calls.stop()
    running[0]?.end()
    await stopping
    markCallBegun(bob.ctx.store, bob.thread(id).key, false)
    prices = {}
    served = {}
    again()
    await over(id)
    expect(asked).toEqual(['hold', 'release'])
    expect(answerOf(id)).toMatchObject({ status: 'UNAVAILABLE', message: expect.stringContaining('serve') })
    expect(running).toHaveLength(1)
  })

  test('that a stop cut short gets its credits back before it is told', async () => {
    const asked = credits()
    calls.start()
    const id = calledHere(alice.aid, authorized())
    await begun(1)
    const stopping = calls.stop()
    running[0]?.end()
    await stopping
    again()
    expect(isBegun(id)).toBe(false)
    await over(id)
    expect(asked).toEqual(['hold', 'release'])
    expect(answerOf(id)).toMatchObject({ status: 'FAILED', message: /the node stopped/ })
    expect(running).toHaveLength(1)
  })

  test('waits while the hub is silent, which is not asked again at once', async () => {
    let asked = 0
    const settle = async () => {
      asked++
      throw new Error('silent')
    }
    Object.assign(bob.hub.credits, { settle })
    calls.start()
    const id = calledHere(alice.aid, authorized())
    await expect.poll(() => asked, SOON).toBe(1)
    await aTurn()
    await aTurn()
    expect([asked, running.length, answersOf(id).length]).toEqual([1, 0, 0])
    expect(bob.thread(id).state).toBe('open')
  })

  test('waits where no hub is, and says nothing until then', async () => {
    bob.ctx.hub.leave()
    calls.start()
    const id = calledHere(alice.aid, authorized())
    await aTurn()
    expect([running.length, answersOf(id).length, bob.thread(id).state]).toEqual([0, 0, 'open'])
  })

  test('cannot be paid at a build without payments, which says so', async () => {
    calls = openCalls(bob.ctx, modules(), undefined)
    calls.start()
    const id = await called()
    await over(id)
    expect(answerOf(id)).toMatchObject({
      status: 'UNAVAILABLE',
      message: `${COUNT} costs 3 credits, and this build has no payment support`,
    })
    expect(running).toEqual([])
  })
})

describe('a task in words that has a price', () => {
  beforeEach(() => {
    prices[TASK] = 5
  })
  const asked = async () => {
    const { id } = alice.delegate(bob)
    await world.settle()
    return id
  }

  test('is answered with that price, for the seven days in which somebody may answer', async () => {
    calls.start()
    const id = await asked()
    await over(id)
    expect(answerOf(id)).toMatchObject({
      status: 'PAYMENT_REQUIRED',
      payment_required: { accepts: [{ amount: '5', extra: { hold_s: (7 * DAY_MS + HOUR_MS) / 1000 } }] },
    })
    expect(openPrice(bob.ctx.store, bob.thread(id))).toBeUndefined()
  })

  test('cannot be paid at a build without payments, which says so', async () => {
    calls = openCalls(bob.ctx, modules(), undefined)
    calls.start()
    const id = await asked()
    await over(id)
    expect(answerOf(id)['message']).toBe('task costs 5 credits, and this build has no payment support')
  })

  test('is left to people and programs once its credits are held', async () => {
    const told = credits()
    prices[COUNT] = 5
    served = {}
    bob.ctx.settings.change({ auto_reply: { backend: 'exec', command: 'cat' } })
    const id = calledHere(alice.aid, authorized({ amount: 5 }, (7 * DAY_MS) / 1000))
    expect(bob.thread(id).autoReply).toBe(0)
    expect(openPrice(bob.ctx.store, bob.thread(id))).toBe(5)
    calls.start()
    await expect.poll(() => bob.thread(id).autoReply, SOON).toBe(1)
    expect(told).toEqual(['hold'])
    expect(openPrice(bob.ctx.store, bob.thread(id))).toBeUndefined()
    expect(answersOf(id)).toEqual([])
    expect(bob.heard.at(-1)).toEqual({
      type: 'inbox',
      data: { interaction_id: id, peer: alice.aid, state: 'open' },
    })
  })

  test('waits while no hub is there to hold them', async () => {
    bob.ctx.hub.leave()
    calls.start()
    const id = await asked()
    await aTurn()
    expect(bob.thread(id)).toMatchObject({ state: 'open', autoReply: 0 })
    expect(openPrice(bob.ctx.store, bob.thread(id))).toBe(5)
  })
})
