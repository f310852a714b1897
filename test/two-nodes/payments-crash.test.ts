/** A paid call over kill -9 of its provider: run once at most, and its credits are taken for what was done, or go back. */
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readConfig, writeConfig } from '../../daemon/home/config.ts'
import type { Node } from '../../daemon/node.ts'
import { killedAt, type Lab, never, openLab, thread, until } from './world.ts'

let lab: Lab
let alice: Node
let bob: Node
let service: Server
let runs = 0

beforeAll(async () => {
  lab = await openLab()
  service = createServer((_, response) => {
    runs += 1
    response.end('{"celsius":21}')
  }).listen(0, '127.0.0.1')
  await once(service, 'listening')
  const url = `http://127.0.0.1:${(service.address() as AddressInfo).port}/`
  const dir = join(lab.folder, 'bob')
  writeConfig(dir, {
    ...readConfig(dir),
    modules: { service: [{ id: 'weather.now', url }] as never },
    prices: { 'weather.now': 5 },
  })
  alice = await lab.member('alice')
  bob = await lab.member('bob')
  await bob.handlers.contactAdd({ aid: alice.aid, petname: 'alice' }, never)
})
afterAll(async () => {
  await lab.close()
  service.close()
})

const balances = async (): Promise<number[]> =>
  (await Promise.all([alice, bob].map(node => node.handlers.balance({}, never)))).flatMap(
    ({ balance, held }) => [balance, held],
  )

/** The price of a call, quoted while the provider runs. */
async function quoted(): Promise<string> {
  const call = { to: bob.aid, capability: 'weather.now', pay: true, max_credits: 1, wait_s: 20 }
  const { interaction_id: id } = await alice.handlers.delegate(call, never)
  expect((await thread(alice, id)).payment).toMatchObject({ state: 'open', amount: 5 })
  return id
}

const step = (transaction: string, n: number) =>
  ['before', 'after'].map(side => `${transaction}.${side}-commit:${n}`)
const faults = [1, 2, 3, 4].flatMap(n => step('node.payment', n)).concat(step('node.call', 1))

test.each(faults)('killed at %s, a provider is paid for what it delivers', async fault => {
  const id = await quoted()
  const before = await balances()
  const ran = runs
  await bob.stop()
  const dead = killedAt(lab, 'bob', fault, 'results', { wait_s: '30' })
  const { interaction_id: paid } = await alice.handlers.approve({ interaction_id: id }, never)
  expect(await dead).toBe('SIGKILL')
  bob = await lab.start('bob')
  await until('both signed', async () => {
    const sides = await Promise.all([alice, bob].map(node => thread(node, paid).catch(() => undefined)))
    return sides.every(side => side?.receipt?.verified === true)
  })
  const status = (await thread(alice, paid)).receipt?.status
  const [mine = 0, , theirs = 0] = before
  const moved = status === 'UNVERIFIED' ? 5 : 0
  await until('the hold has ended', async () => (await balances())[1] === 0)
  expect(await balances()).toEqual([mine - moved, 0, theirs + moved, 0])
  expect(runs - ran).toBeLessThanOrEqual(1)
  if (status === 'UNVERIFIED') expect(runs - ran).toBe(1)
})

test('a build without payments answers that it has none, and runs nothing', async () => {
  const ran = runs
  await bob.stop()
  const alone = killedAt(lab, 'bob', '', 'results', { wait_s: '5' }, { conditions: ['no_x402'] })
  const call = { to: bob.aid, capability: 'weather.now', pay: true, wait_s: 20 }
  const { effect } = await alice.handlers.delegate(call, never)
  expect(effect).toMatchObject({
    status: 'UNAVAILABLE',
    message: 'weather.now costs 5 credits, and this build has no payment support',
  })
  expect(runs).toBe(ran)
  await alone
  bob = await lab.start('bob')
})
