// project: programs

/** Money after `svc restore`, over real processes: what a lost copy had ordered is told as that, and done once. */
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { PRICE, ProcessWorld, type Reply } from './process-world.ts'

const PART = 2
type Who = 'alice' | 'bob'

let world: ProcessWorld
beforeEach(async () => {
  world = await new ProcessWorld().open()
})
afterEach(() => world[Symbol.asyncDispose]())

const balanceOf = async (who: Who) =>
  (await world.ask(who, '/balance', undefined, 'GET'))['balance'] as number
const paymentIn = async (who: Who, id: string) =>
  (await world.ask(who, '/thread', { interaction_id: id }))['payment'] as Reply | undefined

/** A task that alice has paid for and bob has answered. */
async function paidTask(task: string): Promise<string> {
  const given = { to: world.aids.bob, task, pay: true, max_credits: PRICE }
  const quoted = (await world.ask('alice', '/delegate', given))['interaction_id'] as string
  let id = ''
  await world.until('bob holds the payment', async () => {
    id = String((await paymentIn('alice', quoted))?.['paid_as'] ?? '')
    return id !== '' && (await paymentIn('bob', id).catch(() => undefined))?.['state'] === 'held'
  })
  await world.ask('bob', '/message', { interaction_id: id, text: 'an answer' })
  for (const who of ['alice', 'bob'] as const)
    await world.until('it is taken', async () => (await paymentIn(who, id))?.['state'] === 'taken')
  return id
}

/** A backup that is restored on another machine. */
async function backUp(who: Who): Promise<() => Promise<void>> {
  const file = join(world.folder, `${who}.svc`)
  await world.nodeCommand(who, 'backup', file)
  return async () => {
    await world.end(who)
    rmSync(world.dir(who), { recursive: true })
    world.forgetMachine(who)
    await world.nodeCommand(who, 'restore', file)
    await goOn(who)
  }
}

/** A copy of the stopped node's directory that is put back, and that its owner goes on with. */
async function copy(who: Who): Promise<() => Promise<void>> {
  const kept = join(world.folder, `kept-${who}`)
  await world.end(who)
  cpSync(world.dir(who), kept, { recursive: true })
  world.start(who)
  return async () => {
    await world.end(who)
    rmSync(world.dir(who), { recursive: true })
    cpSync(kept, world.dir(who), { recursive: true })
    await world.acceptCopy(who)
    await goOn(who)
  }
}

async function goOn(who: Who): Promise<void> {
  world.start(who)
  await world.until('it goes on', async () => {
    const { restored, hub } = await world.ask(who, '/status', undefined, 'GET')
    return restored !== undefined && (hub as Reply | null)?.['state'] === 'online'
  })
}

test('a refund that came after the backup counts as given back, and is not given again', async () => {
  const id = await paidTask('a poem')
  const restore = await backUp('bob')
  const { transaction } = await world.ask('bob', '/refund', { interaction_id: id, amount: PART })
  const had = await balanceOf('bob')
  await restore()
  await expect(world.ask('bob', '/refund', { interaction_id: id, amount: PART })).rejects.toThrow(
    'credits of this task were given back already',
  )
  expect(await paymentIn('bob', id)).toMatchObject({ state: 'taken', given_back: PART })
  expect(await world.ask('bob', '/reconcile')).toMatchObject({
    agrees: true,
    unknown: [],
    after_backup: [
      { state: 'signed', transaction, amount: PART, reason: 'refund', counterparty: world.aids.alice },
    ],
  })
  expect(await world.ask('bob', '/audit-hub')).toMatchObject({ verified: true })
  expect(await balanceOf('bob')).toBe(had)
}, 300_000)

test.each([
  ['a backup', backUp],
  ['its directory', copy],
])(
  'what a payer paid and redeemed after %s accuses nobody, and it pays on',
  async (_, save) => {
    const restore = await save('alice')
    const id = await paidTask('a poem')
    await world.ask('alice', '/redeem', { amount: 3, reference: 'bill 1' })
    const had = await balanceOf('alice')
    await restore()
    const audited = await world.ask('alice', '/audit-hub')
    const told = [
      { state: 'signed', amount: 3, reason: 'redemption' },
      { state: 'signed', amount: PRICE, reason: 'held', counterparty: world.aids.bob },
    ]
    expect(audited).toMatchObject({ verified: true, after_backup: told })
    expect(await world.ask('alice', '/reconcile')).toMatchObject({
      agrees: true,
      unknown: [],
      after_backup: told,
    })
    const status = await world.ask('alice', '/status', undefined, 'GET')
    expect(status).toMatchObject({ restored: { orders: told } })
    expect(String(status['warnings'])).toMatch(/2 payments were made after the backup that was restored/)
    expect(await paidTask('another poem')).not.toBe(id)
    expect(await balanceOf('alice')).toBe(had - PRICE)
  },
  300_000,
)
