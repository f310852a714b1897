/** What came to pay with is read from the first message of a task, and pays only for what was asked. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { parseCid } from '../../protocol/crypto/hash.ts'
import { fromBase64url } from '../../protocol/encoding/bytes.ts'
import { Authorization, PAY_SALT_BYTES, purposeOf } from '../../protocol/proof/payment.ts'
import type { Quote } from '../../protocol/proof/quote.ts'
import { PaidWorld, type PayingNode, PRICE } from '../testing/paying.ts'
import { taskAsGiven } from './as-given.ts'
import { paymentParts } from './parts.ts'
import { offerFault, offerOf, quoteFor } from './price-check.ts'

const LATE_MS = 2 * 60_000
const SALT = new Uint8Array(PAY_SALT_BYTES).fill(1)

let world: PaidWorld
let alice: PayingNode
let bob: PayingNode

beforeEach(async () => {
  world = new PaidWorld()
  ;({ alice, bob } = await world.paid())
})
afterEach(() => world[Symbol.asyncDispose]())

const task = (id: string) => bob.node.thread(id)
const offered = (id: string) => offerOf(bob.node.ctx.threads, task(id))
const quote = (): Quote =>
  quoteFor({
    provider: bob.node.aid,
    network: world.network,
    what: 'task',
    amount: PRICE,
    seconds: 1.5,
    starts: undefined,
  })

/** A task of alice's that came with these bytes as its payment. */
async function sent(encoded: Uint8Array): Promise<string> {
  const { ctx, tasks } = alice.node
  const given = taskAsGiven(ctx.threads, alice.node.delegate(bob.node))
  const pay = () => ({ paySalt: SALT, authorization: encoded })
  const { id } = alice.node.within(() => tasks.committed.commit(given, pay))
  await world.settle()
  return id
}

test('a quote holds the credits for the work in whole seconds and an hour, and is settled within an hour', () => {
  expect(quote()).toEqual({
    provider: bob.node.aid,
    what: 'task',
    amount: PRICE,
    network: world.network,
    holdSeconds: 2 + 3600,
    settleSeconds: 3600,
  })
})

describe('an offer', () => {
  test('is the authorization that came with a task, with its salt', async () => {
    const id = await world.held(alice, bob)
    const { authorization, encoded, salt } = offered(id) ?? {}
    expect([encoded, salt]).toEqual([alice.payment(id)?.authorization, alice.payment(id)?.salt])
    expect(authorization?.body).toMatchObject({ amount: PRICE, payer: alice.node.aid })
  })

  test('is none where a task came without one, where it cannot be read, and before a task has come', async () => {
    const { id } = alice.node.delegate(bob.node)
    await world.settle()
    expect(offered(id)).toBeUndefined()
    expect(offered(await sent(Uint8Array.of(1, 2, 3)))).toBeUndefined()
    expect(offerOf(bob.node.ctx.threads, { ...task(id), key: 1_000_000 })).toBeUndefined()
  })
})

describe('a payment', () => {
  type Wrong = Partial<Authorization['body']>
  let id: string
  beforeEach(async () => {
    id = await sent(Uint8Array.of(1))
  })

  /** What is said of an authorization that differs in this from the one that was asked for. */
  function fault(wrong: Wrong = {}, { nowMs = world.clock.ms, isHeld = true } = {}) {
    const { identity } = alice.node.ctx
    const { holdSeconds, ...unheld } = quote()
    const asked: Quote = { ...unheld, holdSeconds: isHeld ? holdSeconds : undefined }
    const purpose = purposeOf(SALT, fromBase64url(id), parseCid(task(id).requestCid))
    const { signer } = paymentParts(alice.node.ctx)
    const terms = {
      payTo: bob.node.aid,
      amount: PRICE,
      network: world.network,
      purpose,
      holdSeconds: asked.holdSeconds,
    }
    const { body } = signer.sign(terms)
    const authorization = Authorization.sign(identity.seed, { ...body, ...wrong })
    const offer = { authorization, encoded: Authorization.encode(authorization), salt: SALT }
    return offerFault(offer, { interaction: task(id), quote: asked, nowMs })
  }

  test('is good for the task that it names, held as asked or not at all', () => {
    expect(fault()).toBeUndefined()
    expect(fault({}, { isHeld: false })).toBeUndefined()
  })

  test.each<[string, () => Wrong, string | RegExp]>([
    ['of another payer', () => ({ payer: bob.node.aid }), 'the payment is of somebody else'],
    ['to another payee', () => ({ payTo: alice.node.aid }), 'the payment is to somebody else'],
    [
      'in other credits',
      () => ({ network: world.network.replace(world.post.log.aid, alice.node.aid) }),
      /^the payment is not in credits of /,
    ],
    ['of more', () => ({ amount: PRICE + 1 }), /6 came$/],
    ['of less', () => ({ amount: PRICE - 1 }), /4 came$/],
    ['that gives back', () => ({ refundOf: parseCid(task(id).requestCid) }), /^the payment gives another/],
    [
      'for another task',
      () => ({ purpose: purposeOf(SALT, SALT.subarray(0, 16), parseCid(task(id).requestCid)) }),
      'the payment is for something else',
    ],
    ['for no task', () => ({ purpose: undefined }) as never, 'the payment is for something else'],
  ])('%s is refused', (_, wrong, why) => {
    expect(fault(wrong())).toMatch(why)
  })

  test('over plain HTTP is for the request at hand, and names no task', () => {
    const { identity } = alice.node.ctx
    const { body } = paymentParts(alice.node.ctx).signer.sign({
      payTo: bob.node.aid,
      amount: PRICE,
      network: world.network,
    })
    const judged = (purpose?: Uint8Array) => {
      const authorization = Authorization.sign(identity.seed, { ...body, ...(purpose && { purpose }) })
      const offer = { authorization, encoded: Authorization.encode(authorization), salt: SALT }
      const interaction = { ...task(id), way: 'local' as const }
      const terms = { ...quote(), holdSeconds: undefined }
      return offerFault(offer, { interaction, quote: terms, nowMs: world.clock.ms })
    }
    expect(judged()).toBeUndefined()
    const purpose = purposeOf(SALT, fromBase64url(id), parseCid(task(id).requestCid))
    expect(judged(purpose)).toBe('the payment is for something else')
  })

  test('is taken until two minutes after its time', () => {
    const { notAfter } = paymentParts(alice.node.ctx).signer.sign({
      payTo: bob.node.aid,
      amount: PRICE,
      network: world.network,
    }).body
    expect(fault({}, { nowMs: notAfter + LATE_MS })).toBeUndefined()
    expect(fault({}, { nowMs: notAfter + LATE_MS + 1 })).toMatch(/^the payment came after its time/)
  })

  test('is held for as long as was asked, and no other time', () => {
    const until = world.clock.ms + 4 * 3_600_000
    expect(fault({ holdUntil: until })).toMatch(/^the payment is not held for as long/)
    expect(fault({ holdUntil: undefined } as never)).toMatch(/^the payment is not held for as long/)
  })
})
