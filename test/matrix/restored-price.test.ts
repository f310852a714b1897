// project: programs

/** Prices after `svc restore`, over real processes: what a lost copy has paid for a task is not paid again by itself. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { PRICE, ProcessWorld, type Reply } from './process-world.ts'

type Who = 'alice' | 'bob'

let world: ProcessWorld
beforeEach(async () => {
  world = await new ProcessWorld().open()
})
afterEach(() => world[Symbol.asyncDispose]())

const threadOf = (who: Who, id: string) => world.ask(who, '/thread', { interaction_id: id })
const paymentIn = async (who: Who, id: string) => (await threadOf(who, id))['payment'] as Reply | undefined
const balanceOf = async (who: Who) =>
  (await world.ask(who, '/balance', undefined, 'GET'))['balance'] as number
const status = () => world.ask('alice', '/status', undefined, 'GET')

async function delegated(more: object): Promise<string> {
  return String(
    (await world.ask('alice', '/delegate', { to: world.aids.bob, task: 'a poem', ...more }))[
      'interaction_id'
    ],
  )
}

/** The task that goes on with the payment, once bob has answered it and has the credits. */
async function answered(quoted: string): Promise<string> {
  let id = ''
  await world.until('bob holds the payment', async () => {
    id = String((await paymentIn('alice', quoted))?.['paid_as'] ?? '')
    return id !== '' && (await paymentIn('bob', id).catch(() => undefined))?.['state'] === 'held'
  })
  await world.ask('bob', '/message', { interaction_id: id, text: 'roses are red' })
  for (const who of ['alice', 'bob'] as const)
    await world.until('it is taken', async () => (await paymentIn(who, id))?.['state'] === 'taken')
  return id
}

async function backUp(): Promise<() => Promise<void>> {
  const file = join(world.folder, 'alice.svc')
  await world.nodeCommand('alice', 'backup', file)
  return async () => {
    await world.end('alice')
    rmSync(world.dir('alice'), { recursive: true })
    world.forgetMachine('alice')
    await world.nodeCommand('alice', 'restore', file, '--with-settings')
    world.start('alice')
  }
}

/** What everything says of a task whose price a lost copy has paid, and of that payment. */
async function expectPaidOnce(quoted: string, lost: string): Promise<void> {
  const order = { state: 'signed', amount: PRICE, reason: 'held', counterparty: world.aids.bob }
  await world.until('the hub has shown it', async () => {
    const { restored } = await status()
    return ((restored as Reply)['orders'] as unknown[]).length > 0
  })
  expect(await status()).toMatchObject({ restored: { orders: [order] } })
  await world.until('the other side has said what it was paid for', async () => {
    const payment = await paymentIn('alice', quoted)
    const told = payment?.['lost_payments'] as Reply[] | undefined
    return told?.[0]?.['lost_task'] === lost
  })
  expect(await paymentIn('alice', quoted)).toMatchObject({
    state: 'open',
    lost_payments: [{ state: 'signed', amount: PRICE, lost_task: lost }],
    reason: expect.stringContaining('a copy of this node that is lost paid 5 credits to this agent'),
  })
  expect([await balanceOf('alice'), await balanceOf('bob')]).toEqual([
    world.had.alice - PRICE,
    world.had.bob + PRICE,
  ])
  expect(await world.ask('alice', '/spend', undefined, 'GET')).toMatchObject({ spent_today: PRICE })
  const { entries } = await world.ask('alice', '/balance', undefined, 'GET')
  expect((entries as Reply[])[0]).toMatchObject({
    lost_task: lost,
    reason: 'paid',
    payment: 'taken',
    paid: PRICE,
  })
}

test.each([
  ['a rule', {}],
  ['a yes that was given with the task', { pay: true, max_credits: PRICE }],
])(
  'what %s let a lost copy pay is not paid again, and counts for the day',
  async (_, given) => {
    const limits = { auto_max: PRICE, day_max: 2 * PRICE, payee_day_max: 2 * PRICE }
    await world.ask('alice', '/spend/set', limits)
    await world.end('bob')
    const quoted = await delegated(given)
    const restore = await backUp()
    world.start('bob')
    const lost = await answered(quoted)
    await restore()
    await expectPaidOnce(quoted, lost)
    await expect(world.ask('alice', '/approve', { interaction_id: quoted })).rejects.toThrow(
      `svc approve ${quoted} --again`,
    )
    expect(await balanceOf('alice')).toBe(world.had.alice - PRICE)
    await world.ask('alice', '/approve', { interaction_id: quoted, again: true })
    await answered(quoted)
    expect(await balanceOf('bob')).toBe(world.had.bob + 2 * PRICE)
  },
  300_000,
)

test('what a person approved after the backup is not approved again without a word', async () => {
  const quoted = await delegated({})
  await world.until('the price is here', async () => (await paymentIn('alice', quoted))?.['state'] === 'open')
  const restore = await backUp()
  await world.ask('alice', '/approve', { interaction_id: quoted })
  const lost = await answered(quoted)
  await restore()
  await expect(world.ask('alice', '/approve', { interaction_id: quoted })).rejects.toThrow(
    'paid 5 credits to this agent',
  )
  await expectPaidOnce(quoted, lost)
}, 300_000)
