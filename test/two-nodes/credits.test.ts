/** Credits as a node tells of them: what its hub owes it, and the latest of what moved (node document §4.2). */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readIdentity } from '../../daemon/identity/identity.ts'
import type { Node } from '../../daemon/node.ts'
import { random, TestAgent } from '../../hub/testing/hub.ts'
import { ask, payment } from '../../hub/testing/payments.ts'
import { type Lab, never, openPair, servedLog, until } from './world.ts'

let lab: Lab
let alice: Node
let bob: Node
beforeAll(async () => {
  ;({ lab, alice, bob } = await openPair())
})
afterAll(() => lab.close())

/** The key of a node, in the hand of a client of x402. */
function walletOf({ aid }: Node, name: string): TestAgent {
  const held = readIdentity(join(lab.folder, name), { now: lab.hub.clock.now, random })
  if (held?.aid !== aid) throw new Error(`no identity of ${name}`)
  return Object.assign(new TestAgent(lab.hub), { log: held.log, seed: held.seed })
}

test('balance tells what the hub owes, what moved, and with whom by petname', async () => {
  await alice.handlers.contactAdd({ aid: bob.aid, petname: 'bob' }, never)
  const id = randomBytes(16).toString('hex')
  const { aid } = alice
  await lab.hub.running.order({ command: 'grant', aid, amount: 40, reason: 'a test', id })
  const before = await alice.handlers.balance({}, never)
  const paid = payment(walletOf(alice, 'alice'), bob, 30)
  expect((await ask(lab.hub, 'x402Settle', paid.request)).json['success']).toBe(true)
  const told = await alice.handlers.balance({}, never)
  expect(told).toMatchObject({
    hub: lab.hub.aid,
    network: `hub:${lab.hub.aid}`,
    balance: before.balance - 30,
    held: 0,
    trial: 'granted',
  })
  expect(told.entries.slice(0, 2)).toEqual([
    {
      at: expect.any(Number),
      delta: -30,
      reason: 'paid',
      transaction: paid.transaction,
      counterparty: bob.aid,
      contact: 'bob',
    },
    { at: expect.any(Number), delta: 40, reason: 'grant' },
  ])
})

test('an identity that still has credits is ended only by who gives them up', async () => {
  const rich = await lab.member('rich')
  const { balance } = await rich.handlers.balance({}, never)
  expect(balance).toBeGreaterThan(0)
  await expect(rich.handlers.idDeactivate({}, never)).rejects.toMatchObject({
    code: 'credits_remain',
    message: `${balance} credits at ${lab.line.url} would be lost with the identity; spend them, or give them up`,
  })
  expect(rich.ctx.identity.log.deactivated).toBe(false)
  expect(await rich.handlers.idDeactivate({ forfeit_credits: true }, never)).toMatchObject({
    state: 'deactivated',
  })
})

describe('an identity that left its hub', () => {
  test('is not ended while that hub owes it credits, or does not say whether it does', async () => {
    const gone = await lab.member('gone')
    await gone.handlers.hubLeave({}, never)
    await expect(gone.handlers.idDeactivate({}, never)).rejects.toMatchObject({
      code: 'credits_remain',
      message: `100 credits at ${lab.line.url} would be lost with the identity; spend them, or give them up`,
    })
    await lab.line.down()
    await expect(gone.handlers.idDeactivate({}, never)).rejects.toMatchObject({
      code: 'credits_remain',
      message: expect.stringContaining(`${lab.line.url} does not answer`),
    })
    expect(gone.ctx.identity.log.deactivated).toBe(false)
    await lab.line.up()
  })

  test('still reads its account there, pays, redeems and audits, also after a rotation', async () => {
    const left = await lab.member('left')
    expect(await left.handlers.hubLeave({}, never)).toEqual({
      status: 'left',
      hub_url: lab.line.url,
      current: true,
      note: '100 credits remain there; they can still be paid with, redeemed or taken along',
      next: `svc redeem 100 --hub ${lab.line.url}`,
    })
    await expect(left.handlers.balance({}, never)).rejects.toMatchObject({
      code: 'no_hub',
      message: `this node is registered at no hub; its account at ${lab.line.url} is still there`,
      next: `svc balance --hub ${lab.line.url}`,
    })
    await left.handlers.idRotate({}, never)
    const at = { hub: lab.line.url }
    expect(await left.handlers.balance(at, never)).toMatchObject({ hub: lab.hub.aid, balance: 100 })
    const { header } = await left.handlers.payHeader({ ...at, pay_to: alice.aid, amount: 2 }, never)
    const paymentPayload = JSON.parse(Buffer.from(header, 'base64').toString('utf8'))
    const body = { x402Version: 2, paymentPayload, paymentRequirements: paymentPayload.accepted }
    expect((await ask(lab.hub, 'x402Settle', body)).json['success']).toBe(true)
    expect(await left.handlers.redeem({ ...at, amount: 98, reference: 'last' }, never)).toMatchObject({
      amount: 98,
      verified: true,
    })
    expect(await left.handlers.reconcile(at, never)).toMatchObject({ agrees: true })
    expect(await left.handlers.auditHub(at, never)).toMatchObject({ hub: lab.hub.aid, verified: true })
    expect(await left.handlers.idDeactivate({}, never)).toMatchObject({ state: 'deactivated' })
  })

  test('is ended there too, also once the hub answers again', async () => {
    const ended = await lab.member('ended')
    await ended.handlers.hubLeave({}, never)
    await lab.line.down()
    await ended.handlers.idDeactivate({ forfeit_credits: true }, never)
    await lab.line.up()
    ended.wake()
    await until('the hub knows', async () => (await servedLog(lab.line.url, ended.aid))?.deactivated === true)
  })

  test('is not asked about a hub that never knew it', async () => {
    const lone = await lab.start('alone')
    expect(await lone.handlers.idDeactivate({}, never)).toMatchObject({ state: 'deactivated' })
  })
})

test('without a hub balance says which command finds one', async () => {
  const lone = await lab.start('lone')
  await expect(lone.handlers.balance({}, never)).rejects.toMatchObject({ code: 'no_hub' })
})
