/** Calls of the node's own capabilities over A2A, for nothing and paid by x402. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { toBase64url, utf8 } from '../../protocol/encoding/bytes.ts'
import type { JsonValue } from '../../protocol/encoding/json.ts'
import { Authorization } from '../../protocol/proof/payment.ts'
import { A2aWorld, FREE, PRICED, type Told } from '../testing/a2a.ts'
import { GRANTED, PRICE } from '../testing/paying.ts'
import { extensionUris, readHeader } from './x402.ts'

let world: A2aWorld
beforeEach(async () => {
  world = await new A2aWorld().serve()
  world.post.ledger.grant(world.bob.node.aid, GRANTED)
})
afterEach(() => world[Symbol.asyncDispose]())

type Task = {
  id: string
  status: { state: string; message?: { parts: { text: string }[]; metadata?: object } }
}
const taskIn = ({ body }: Told) => body['task'] as Task
const extended = { 'A2A-Extensions': extensionUris[1] }
const waits = { returnImmediately: false }
const balance = () => world.post.ledger.balanceOf(world.bob.node.aid)
const headerIn = ({ headers }: Told, name: string) => {
  const text = headers.get(name)
  return text === null ? undefined : (readHeader(text) as Record<string, JsonValue>)
}

type Terms = { maxTimeoutSeconds: number; extra: { hold_s: number } }

/** What bob pays for the call, on the terms that it is told; `isForged`: under a key that is not his. */
async function payment({ isForged = false } = {}): Promise<Record<string, JsonValue>> {
  const { accepts } = headerIn(await world.call(PRICED), 'PAYMENT-REQUIRED') as { accepts: [Terms] }
  const [accepted] = accepts
  const { identity, random } = world.bob.node.ctx
  const notAfter = world.clock.ms + accepted.maxTimeoutSeconds * 1000
  const authorization = Authorization.sign(isForged ? new Uint8Array(32).fill(7) : identity.seed, {
    v: 1,
    payer: identity.aid,
    payerKelSeq: identity.log.seq,
    payTo: world.alice.node.aid,
    amount: PRICE,
    network: world.network,
    nonce: random(16),
    notBefore: world.clock.ms,
    notAfter,
    holdUntil: notAfter + accepted.extra.hold_s * 1000,
  })
  const encoded = toBase64url(Authorization.encode(authorization))
  return { x402Version: 2, accepted: accepted as never, payload: { authorization: encoded } }
}
const header = (value: unknown) => ({
  'PAYMENT-SIGNATURE': Buffer.from(JSON.stringify(value)).toString('base64'),
})

describe('a call', () => {
  test('without a price is answered with its result', async () => {
    const told = await world.call(FREE, { configuration: waits })
    expect(taskIn(told)).toMatchObject({
      status: { state: 'TASK_STATE_COMPLETED', message: { parts: [{ text: 'three words' }] } },
    })
    expect(headerIn(told, 'PAYMENT-RESPONSE')).toBeUndefined()
    expect(world.ran).toEqual([FREE])
  })

  test('of what the node does not serve, and words for nobody, are refused', async () => {
    expect((await world.call('other.thing')).body['error']).toMatchObject({
      message: expect.stringMatching(/^this node does not serve other.thing/),
    })
    const told = await world.call('', { message: { parts: [{ text: 'hello' }] } })
    expect(told.body['error']).toMatchObject({ message: expect.stringContaining('name an agent') })
  })

  test('takes no more messages', async () => {
    const { id } = taskIn(await world.call(FREE))
    const told = await world.call(FREE, { message: { taskId: id } })
    expect(told.body['error']).toMatchObject({ message: expect.stringMatching(/no more messages/) })
  })

  test('is taken by no copy of the node that may not sign', async () => {
    world.alice.node.ctx.hub.oldCopy = 'a newer copy was seen'
    expect((await world.call(FREE)).body['error']).toMatchObject({
      message: expect.stringMatching(/takes no calls now/),
    })
  })
})

describe('x402 by headers', () => {
  test('an unpaid call is answered with 402 and what it costs, and runs nothing', async () => {
    const told = await world.call(PRICED)
    expect([told.status, headerIn(told, 'PAYMENT-REQUIRED')]).toMatchObject([
      402,
      { x402Version: 2, accepts: [{ amount: String(PRICE), payTo: world.alice.node.aid }] },
    ])
    expect(told.headers.get('payment-response')).toBeNull()
    const parts = [{ data: { capability: PRICED } }]
    const rpc = await world.rpc('SendMessage', { message: { messageId: 'r', role: 'ROLE_USER', parts } })
    expect([rpc.status, rpc.body['error']]).toMatchObject([402, { code: -32004 }])
    expect(world.ran).toEqual([])
  })

  test('a paid one runs once and is answered with the receipt of the hub', async () => {
    const paid = header(await payment())
    const told = await world.call(PRICED, { headers: paid, configuration: waits })
    expect([told.status, taskIn(told).status.state]).toEqual([200, 'TASK_STATE_COMPLETED'])
    expect(headerIn(told, 'PAYMENT-RESPONSE')).toMatchObject({ success: true, amount: String(PRICE) })
    expect(balance()).toEqual({ balance: GRANTED - PRICE, held: 0 })
    const again = await world.call(PRICED, { headers: paid, configuration: waits })
    expect([again.status, headerIn(again, 'PAYMENT-REQUIRED')?.['error']]).toEqual([
      402,
      'this payment was taken for another call; pay anew',
    ])
    expect(world.ran).toEqual([PRICED])
  })

  test.each([
    ['is none', { payload: {} }, 'the payment does not have the members'],
    ['is of another version', { x402Version: 1 }, 'the payment does not have the members'],
    ['accepts other terms', { accepted: {} }, 'the payment accepts other terms'],
    ['holds no authorization', { payload: { authorization: 'AAAA' } }, 'the authorization cannot be read'],
  ])('what %s is asked for again', async (_, wrong, why) => {
    const told = await world.call(PRICED, { headers: header({ ...(await payment()), ...wrong }) })
    expect([told.status, headerIn(told, 'PAYMENT-REQUIRED')?.['error']]).toEqual([
      402,
      expect.stringMatching(`^${why}`),
    ])
  })

  test('what cannot be read pays for nothing, and a long header is not read', async () => {
    expect((await world.call(PRICED, { headers: { 'PAYMENT-SIGNATURE': '!!' } })).status).toBe(402)
    const of = (length: number) => toBase64url(utf8(JSON.stringify('x'.repeat(length)))).padEnd(16384, '=')
    expect([readHeader(of(9)), readHeader(`${of(9)}=`)]).toEqual(['x'.repeat(9), undefined])
  })

  test('one that the hub refuses is asked for again, with its words', async () => {
    const told = await world.call(PRICED, {
      headers: header(await payment({ isForged: true })),
      configuration: waits,
    })
    expect(told.status).toBe(402)
    expect(headerIn(told, 'PAYMENT-RESPONSE')).toMatchObject({ success: false, transaction: '' })
    expect(headerIn(told, 'PAYMENT-REQUIRED')?.['error']).toMatch(/signature/)
    expect(world.ran).toEqual([])
  })

  test('a stream says at its end what became of the payment, and nothing before', async () => {
    const parts = [{ data: { capability: PRICED } }]
    const body = { message: { messageId: 's', role: 'ROLE_USER', parts } }
    const answer = await world.fetch('/message:stream', {
      method: 'POST',
      body,
      headers: header(await payment()),
    })
    const told = (await answer.text()).trim().split('\n\n')
    expect(told.at(-1)).toContain('"x402.payment.status":"payment-completed"')
    expect(told.slice(0, -1).join()).not.toContain('"success"')
  })
})

describe('x402 as an extension', () => {
  const pay = (id: string, more: object) =>
    world.call(PRICED, {
      headers: extended,
      configuration: waits,
      message: { taskId: id, parts: [{ text: 'paid' }], metadata: more },
    })

  test('the task waits for its payment, and goes on with it', async () => {
    const asked = await world.call(PRICED, { headers: extended })
    expect(asked.headers.get('a2a-extensions')).toBe(extensionUris.join(', '))
    const { id, status } = taskIn(asked)
    expect(status).toMatchObject({
      state: 'TASK_STATE_INPUT_REQUIRED',
      message: {
        parts: [{ text: `${PRICED} costs ${PRICE} credits on ${world.network}` }],
        metadata: { 'x402.payment.status': 'payment-required', 'x402.payment.required': { x402Version: 2 } },
      },
    })
    const none = await pay(id, {})
    expect(none.body['error']).toMatchObject({ message: 'the call waits for its payment' })
    const wrong = await pay(id, { 'x402.payment.payload': { x402Version: 2 } })
    expect(wrong.body['error']).toMatchObject({
      message: expect.stringMatching(/^the payment does not have/),
    })
    const told = await pay(id, { 'x402.payment.payload': await payment() })
    expect(taskIn(told)).toMatchObject({
      id,
      status: {
        state: 'TASK_STATE_COMPLETED',
        message: {
          metadata: {
            'x402.payment.status': 'payment-completed',
            'x402.payment.receipts': [{ success: true }],
          },
        },
      },
    })
    expect(world.ran).toEqual([PRICED])
  })

  test('a client that refuses to pay ends the task', async () => {
    const { id } = taskIn(await world.call(PRICED, { headers: extended }))
    const told = await pay(id, { 'x402.payment.status': 'payment-rejected' })
    expect(taskIn(told)).toMatchObject({ id, status: { state: 'TASK_STATE_CANCELED' } })
  })

  test('a call that has lost its price meanwhile is called anew', async () => {
    const { id } = taskIn(await world.call(PRICED, { headers: extended }))
    const paid = await payment()
    world.price = undefined
    const told = await pay(id, { 'x402.payment.payload': paid })
    expect(told.body['error']).toMatchObject({ message: expect.stringMatching(/no price any more/) })
  })

  test('a client that does not activate it is told of no extension', async () => {
    const told = await world.call(FREE, { headers: { 'A2A-Extensions': 'urn:other' } })
    expect(told.headers.get('a2a-extensions')).toBeNull()
  })
})

test('a build that takes no payments refuses a call with a price', async () => {
  await using other = await new A2aWorld().serve({ isPaidHere: false })
  expect((await other.call(PRICED)).body['error']).toMatchObject({
    message: `${PRICED} has a price, and this build has no payment support`,
  })
  expect((await other.call(FREE)).status).toBe(200)
})
