// project: programs

/** Priced calls of a node over its A2A interface: x402 by headers and as an extension, into one set of payments. */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readConfig, writeConfig } from '../../daemon/home/config.ts'
import { fromBase64url } from '../../protocol/encoding/bytes.ts'
import { CreditClient } from '../../x402/client.ts'
import { payerWithSeed } from '../../x402/payer.ts'
import type { Requirements } from '../../x402/shapes.ts'
import { never, thread, until } from '../two-nodes/world.ts'
import { type A2aLab, openA2aLab } from './world.ts'

const EXTENSION = 'https://github.com/google-agentic-commerce/a2a-x402/blob/main/spec/v0.2'
const HOLD_SECONDS_MAX = 2 * 3600

let world: A2aLab
let service: Server
let runs = 0
let isBroken = false
/** Answers of the service that are held back, while any are. */
let holding: (() => void)[] | undefined
beforeAll(async () => {
  service = createServer((_, response) => {
    runs += 1
    const answer = () => response.writeHead(isBroken ? 500 : 200).end('{"celsius":21}')
    if (holding === undefined) answer()
    else holding.push(answer)
  }).listen(0, '127.0.0.1')
  await once(service, 'listening')
  const url = `http://127.0.0.1:${(service.address() as AddressInfo).port}/`
  world = await openA2aLab(dir =>
    writeConfig(dir, {
      ...readConfig(dir),
      modules: {
        service: [
          { id: 'weather.now', url },
          { id: 'weather.free', url },
        ] as never,
      },
    }),
  )
  await world.alice.handlers.priceSet({ capability: 'weather.now', amount: 2 }, never)
})
afterAll(async () => {
  await world.lab.close()
  service.close()
})

type Required = { accepts: [Requirements]; error?: string; resource: { url: string } }
type Shown = { id: string; status: { state: string; message: object }; artifacts: object[] }
type Settled = { success: boolean; transaction: string; amount?: string; errorMessage?: string }
const read = <T>(header: string | null): T | undefined =>
  header === null ? undefined : (JSON.parse(Buffer.from(header, 'base64').toString()) as T)

async function send(
  parts: object[],
  more: { headers?: Record<string, string>; message?: object; configuration?: object; rpc?: true } = {},
) {
  const message = { messageId: randomUUID(), role: 'ROLE_USER', parts, ...more.message }
  const call = { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } }
  const response = await world.fetch(`${world.url}${more.rpc ? '/' : '/message:send'}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'A2A-Version': '1.0', ...more.headers },
    body: JSON.stringify(more.rpc ? call : { message, configuration: more.configuration }),
  })
  return {
    status: response.status,
    body: (await response.json()) as {
      task: { id: string; status: { state: string; message: never }; artifacts: never }
    },
    required: read<Required>(response.headers.get('PAYMENT-REQUIRED')),
    settled: read<Settled>(response.headers.get('PAYMENT-RESPONSE')),
  }
}
async function rpc(method: string, params: object) {
  const response = await world.fetch(world.url, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'A2A-Version': '1.0' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  return ((await response.json()) as { result: { task: Shown } & Shown }).result
}
const call = (capability: string) => [{ data: { capability, args: {} } }]

/** What bob pays with. */
async function payment({ accepts: [requirements] }: Required): Promise<object> {
  const { identity, now } = world.bob.ctx
  const payer = payerWithSeed(identity.aid, identity.log.seq, identity.seed)
  const client = new CreditClient({ payer, holdSecondsMax: HOLD_SECONDS_MAX, now })
  const { payload } = await client.createPaymentPayload(2, requirements)
  return { x402Version: 2, accepted: requirements, payload }
}
const header = (value: object) => ({
  'PAYMENT-SIGNATURE': Buffer.from(JSON.stringify(value)).toString('base64'),
})
const balance = async () => (await world.bob.handlers.balance({}, never)).balance

test('a call that costs nothing is answered with its result', async () => {
  const { status, body } = await send(call('weather.free'))
  expect(status).toBe(200)
  expect(body.task).toMatchObject({
    status: { state: 'TASK_STATE_COMPLETED' },
    artifacts: [{ name: 'result', parts: [{ data: { status: 'UNVERIFIED' } }] }],
  })
})

test('a call stands with the other tasks, as one that came over this interface and is over', async () => {
  const { body } = await send(call('weather.free'))
  const shown = await thread(world.alice, body.task.id)
  expect(shown).toMatchObject({ local: true, state: 'ended', side: 'received', peer: world.alice.aid })
  expect(shown.turns.map(({ kind }) => kind)).toEqual(['delegate', 'result'])
  const waiting = world.alice.ctx.store.get<{ n: number }>('SELECT count(*) AS n FROM outbox')
  expect(waiting).toEqual({ n: 0 })
})

test('words for nobody are refused, saying how an agent is named', async () => {
  const { status, body } = await send([{ text: 'hello' }])
  expect(status).toBe(400)
  expect(JSON.stringify(body)).toContain('name an agent')
})

describe('x402 by headers', () => {
  test('an unpaid call is answered with 402 and what it costs, and runs nothing', async () => {
    const before = runs
    const { status, required } = await send(call('weather.now'))
    expect(status).toBe(402)
    expect(required).toMatchObject({
      x402Version: 2,
      resource: { url: `svc:${world.alice.aid}/weather.now` },
      accepts: [{ scheme: 'svc-credit', amount: '2', payTo: world.alice.aid }],
    })
    expect(runs).toBe(before)
    expect((await send(call('weather.now'), { rpc: true })).status).toBe(402)
  })

  test('a paid one runs once and is answered with the receipt of the hub', async () => {
    const [before, ran] = [await balance(), runs]
    const { required } = await send(call('weather.now'))
    const paid = await payment(required as Required)
    const { status, body, settled } = await send(call('weather.now'), { headers: header(paid) })
    expect([status, body.task.status.state, runs - ran]).toEqual([200, 'TASK_STATE_COMPLETED', 1])
    expect(settled).toMatchObject({ success: true, amount: '2', payer: world.bob.aid })
    expect(await balance()).toBe((before ?? 0) - 2)
  })

  test('a header that svc x402-authorize made for its terms pays for one too', async () => {
    const ran = runs
    const { required } = await send(call('weather.now'))
    const [terms] = (required as Required).accepts
    if (terms === undefined) throw new Error('no terms')
    const extra = terms.extra as { hold_s: number }
    const asked = { pay_to: world.alice.aid, amount: 2, timeout_s: terms.maxTimeoutSeconds, extra }
    const { header: value } = await world.bob.handlers.payHeader(asked, never)
    const { status } = await send(call('weather.now'), { headers: { 'PAYMENT-SIGNATURE': value } })
    expect([status, runs - ran]).toEqual([200, 1])
    await expect(
      world.bob.handlers.payHeader({ ...asked, extra: { hold_s: 0.5 } }, never),
    ).rejects.toMatchObject({
      code: 'bad_request',
    })
  })

  test('25 requests with one payment at the same moment: one of them runs', async () => {
    const ran = runs
    const { required } = await send(call('weather.now'))
    const paid = await payment(required as Required)
    const answers = await Promise.all(
      Array.from({ length: 25 }, () => send(call('weather.now'), { headers: header(paid) })),
    )
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(answers.filter(({ status }) => status === 402)).toHaveLength(24)
    expect(runs - ran).toBe(1)
  })

  test('what a sealed task was paid with pays for no call here', async () => {
    const { interaction_id: id } = await world.bob.handlers.delegate(
      { to: world.alice.aid, capability: 'weather.now', pay: true, max_credits: 5, wait_s: 20 },
      never,
    )
    const row = world.bob.ctx.store.get<{ authorization: Uint8Array }>(
      'SELECT p.authorization FROM payments AS p JOIN interactions AS i ON i.key = p.interaction WHERE i.id = ?',
      id,
    )
    const { required } = await send(call('weather.now'))
    const [accepted] = (required as Required).accepts
    const reused = {
      x402Version: 2,
      accepted,
      payload: { authorization: Buffer.from(row?.authorization ?? []).toString('base64url') },
    }
    const { status, required: again } = await send(call('weather.now'), { headers: header(reused) })
    expect([status, again?.error]).toEqual([402, 'this payment was taken for another call; pay anew'])
  })

  test('one that fails is answered, and says that its credits were not taken', async () => {
    const before = await balance()
    const { required } = await send(call('weather.now'))
    const paid = await payment(required as Required)
    isBroken = true
    const { status, body, settled } = await send(call('weather.now'), { headers: header(paid) })
    isBroken = false
    expect([status, body.task.status.state]).toEqual([200, 'TASK_STATE_FAILED'])
    expect(settled).toMatchObject({ success: false, errorMessage: expect.stringContaining('go back') })
    expect(settled).not.toHaveProperty('amount')
    expect(await balance()).toBe(before)
  })

  test.each([
    ['succeeds', false, 'payment-completed'],
    ['fails', true, 'payment-failed'],
  ])('a stream that %s claims nothing before its end, and says it there', async (_, breaks, says) => {
    const before = await balance()
    const { required } = await send(call('weather.now'))
    const paid = await payment(required as Required)
    isBroken = breaks
    const response = await world.fetch(`${world.url}/message:stream`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'A2A-Version': '1.0', ...header(paid) },
      body: JSON.stringify({
        message: { messageId: randomUUID(), role: 'ROLE_USER', parts: call('weather.now') },
      }),
    })
    expect(response.status).toBe(200)
    expect(response.headers.get('PAYMENT-RESPONSE')).toBeNull()
    const told = await response.text()
    isBroken = false
    const ends = told.split('\n').findLast(line => line.startsWith('data:')) ?? ''
    expect(ends).toContain(`"x402.payment.status":"${says}"`)
    expect(ends).toContain(`"success":${!breaks}`)
    expect(told.split(ends)[0]).not.toContain('"success"')
    expect(await balance()).toBe((before ?? 0) - (breaks ? 0 : 2))
  })

  test('one whose answer is not waited for claims nothing of its payment', async () => {
    const { required } = await send(call('weather.now'))
    const paid = await payment(required as Required)
    const configuration = { returnImmediately: true }
    const ran = runs
    const { status, settled } = await send(call('weather.now'), { headers: header(paid), configuration })
    expect([status, settled]).toEqual([200, undefined])
    await until('it has run', () => runs > ran)
  })

  test('one that the hub refuses is asked for again, with its words', async () => {
    const ran = runs
    const { required } = await send(call('weather.now'))
    const paid = (await payment(required as Required)) as { payload: { authorization: string } }
    const bytes = Buffer.from(fromBase64url(paid.payload.authorization))
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1
    const forged = { ...paid, payload: { authorization: bytes.toString('base64url') } }
    const { status, settled } = await send(call('weather.now'), { headers: header(forged) })
    expect(status).toBe(402)
    expect(settled).toMatchObject({ success: false, transaction: '' })
    expect(runs).toBe(ran)
  })
})

describe('a paid call that a stop of the node cut short', () => {
  test('has failed after the start, and its credits are given back', async () => {
    const before = await balance()
    const { required } = await send(call('weather.now'))
    const paid = await payment(required as Required)
    holding = []
    const { status, body } = await send(call('weather.now'), {
      headers: header(paid),
      configuration: { returnImmediately: true },
    })
    expect([status, body.task.status.state]).toEqual([200, 'TASK_STATE_WORKING'])
    await until('it runs', () => holding?.length === 1)
    await world.alice.stop()
    holding = undefined
    world.alice = await world.lab.start('alice')
    world.url = (await world.alice.handlers.a2a(undefined, never)).url as string
    await until('it has failed', async () => {
      const response = await world.fetch(`${world.url}/tasks/${body.task.id}`, {
        headers: { 'A2A-Version': '1.0' },
      })
      return ((await response.json()) as typeof body.task).status.state === 'TASK_STATE_FAILED'
    })
    await until('the credits are back', async () => (await balance()) === before)
  })
})

describe('x402 as an extension', () => {
  const headers = { 'A2A-Extensions': EXTENSION }

  test('the task waits for its payment, and goes on with it', async () => {
    const asked = await send(call('weather.now'), { headers })
    const { id } = asked.body.task
    expect([asked.status, asked.body.task.status.state]).toEqual([200, 'TASK_STATE_INPUT_REQUIRED'])
    const { metadata } = asked.body.task.status.message as { metadata: Record<string, never> }
    expect(metadata['x402.payment.status']).toBe('payment-required')
    const paid = await payment(metadata['x402.payment.required'] as never)
    const answered = await send([{ text: 'paid' }], {
      headers,
      message: {
        taskId: id,
        metadata: { 'x402.payment.status': 'payment-submitted', 'x402.payment.payload': paid },
      },
    })
    expect(answered.body.task).toMatchObject({
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
    const again = await send(call('weather.now'), { headers: header(paid) })
    expect([again.status, again.required?.error]).toEqual([
      402,
      'this payment was taken for another call; pay anew',
    ])
  })

  test('a payment that is refused by the client ends the task', async () => {
    const { body } = await send(call('weather.now'), { headers })
    const message = { taskId: body.task.id, metadata: { 'x402.payment.status': 'payment-rejected' } }
    const { body: ended } = await send([{ text: 'no' }], { headers, message })
    expect(ended.task.status.state).toBe('TASK_STATE_CANCELED')
  })
})

describe('a task for an agent that wants to be paid', () => {
  const ask = (metadata: object) =>
    rpc('SendMessage', {
      tenant: 'bob',
      message: { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text: 'count' }], metadata },
    })

  test('waits for whoever runs this node, and goes on under its id once that is paid', async () => {
    const { alice, bob } = world
    await bob.handlers.priceSet({ capability: 'task', amount: 3 }, never)
    const { task } = await ask({})
    expect(task.status.state).toBe('TASK_STATE_AUTH_REQUIRED')
    expect(JSON.stringify(task.status.message)).toContain(`svc approve ${task.id}`)
    // what a program is told raises nothing that a person pays unasked
    const told = await alice.handlers.delegate({ to: 'bob', task: 'the same', pay: true, wait_s: 20 }, never)
    expect(told.payment?.reason).toBe('it costs 3 credits, and nothing says that so many may be paid for it')
    await alice.handlers.approve({ interaction_id: task.id }, never)
    let paidAs = ''
    await until('the paid task arrives', async () => {
      const { items } = await bob.handlers.inbox({}, never)
      const paid = items.find(item => item.payment?.state === 'held')
      paidAs = paid?.interaction_id ?? ''
      return paid !== undefined
    })
    await bob.handlers.message({ interaction_id: paidAs, text: 'three' }, never)
    await until('the answer is told', async () => {
      const { status, artifacts } = await rpc('GetTask', { id: task.id })
      return status.state === 'TASK_STATE_INPUT_REQUIRED' && JSON.stringify(artifacts).includes('three')
    })
    expect(await rpc('GetTask', { id: task.id })).toMatchObject({ metadata: { 'svc.paid_as': paidAs } })
    expect(task).not.toHaveProperty('metadata')
  })

  test('is paid for by the rules of this node, as far as the client allows it', async () => {
    const { alice, bob } = world
    await alice.handlers.spendSet({ agent_max: 5, day_max: 20, payee_day_max: 20 }, never)
    const { task } = await ask({ 'svc.max_credits': 2 })
    expect(task.status.state).toBe('TASK_STATE_AUTH_REQUIRED')
    const asked = ask({ 'svc.max_credits': 3 })
    await until('the paid task arrives', async () => {
      const { items } = await bob.handlers.inbox({}, never)
      const paid = items.find(item => item.payment?.state === 'held' && item.state === 'open')
      if (paid === undefined) return false
      return bob.handlers.message({ interaction_id: paid.interaction_id, text: 'four' }, never)
    })
    const answered = (await asked).task
    expect([answered.status.state, answered.artifacts]).toMatchObject([
      'TASK_STATE_INPUT_REQUIRED',
      [{ parts: [{ text: 'four' }] }],
    ])
  })
})
