/** Work for a price, over a hub: quote, payment, hold, work, and what took or gave back the credits (node document §3.1). */

import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { PUBLISHED } from '../../cli/commands/joining.ts'
import { runIn } from '../../cli/testing.ts'
import { readConfig, writeConfig } from '../../daemon/home/config.ts'
import { HubUnreachable } from '../../daemon/hubs/hub.ts'
import type { Node } from '../../daemon/node.ts'
import { paymentParts } from '../../daemon/payments/parts.ts'
import { openOrders } from '../../daemon/store/open-payments.ts'
import { seenHeads } from '../../daemon/store/supply-heads.ts'
import { ask } from '../../hub/testing/payments.ts'
import { inboxIds, type Lab, never, openLab, thread, until } from './world.ts'

let lab: Lab
let alice: Node
let bob: Node
let service: Server
let runs = 0
/** Answers that wait to be let go, while any do. */
let holding: (() => void)[] | undefined

beforeAll(async () => {
  lab = await openLab({}, { inTheMorning: true })
  service = createServer((request, response) => {
    runs += 1
    if (holding !== undefined) return void holding.push(() => response.end('{"celsius":21}'))
    const isBroken = request.url === '/broken'
    response.writeHead(isBroken ? 500 : 200).end('{"celsius":21}')
  }).listen(0, '127.0.0.1')
  await once(service, 'listening')
  const url = `http://127.0.0.1:${(service.address() as AddressInfo).port}`
  const dir = join(lab.folder, 'bob')
  writeConfig(dir, {
    ...readConfig(dir),
    modules: {
      service: [
        { id: 'weather.now', url: `${url}/weather` },
        { id: 'weather.broken', url: `${url}/broken` },
      ] as never,
    },
  })
  alice = await lab.member('alice')
  bob = await lab.member('bob')
  await bob.handlers.contactAdd({ aid: alice.aid, petname: 'alice' }, never)
  await alice.handlers.contactAdd({ aid: bob.aid, petname: 'bob' }, never)
  await bob.handlers.priceSet({ capability: 'weather.now', amount: 5 }, never)
  await bob.handlers.priceSet({ capability: 'weather.broken', amount: 7 }, never)
})
afterAll(async () => {
  await lab.close()
  service.close()
})

const credits = async () => {
  const [mine, theirs] = await Promise.all([alice, bob].map(node => node.handlers.balance({}, never)))
  return [mine?.balance, mine?.held, theirs?.balance, theirs?.held]
}
/** By another name, where a test speaks of the credits of a hub. */
const has = credits
const heldOrders = () => openOrders(bob.ctx.store, Number.MAX_SAFE_INTEGER, 10).length
type Effect = { status: string; message: string; payment_required?: { accepts: Record<string, unknown>[] } }
async function call(capability: string, more: object = {}) {
  const reply = await alice.handlers.delegate({ to: 'bob', capability, wait_s: 20, ...more }, never)
  return { ...reply, effect: reply.effect as Effect }
}
const signed = (id: string) =>
  until('both signed', async () => {
    const sides = await Promise.all([alice, bob].map(node => thread(node, id)))
    return sides.every(side => side.receipt?.verified === true)
  })
const records = async (node: Node, event_type: string) =>
  (await node.handlers.evidence({ event_type }, never)).records.map(({ payload }) => payload)

/** Why a price that came waits for a person. */
const quoteReason = (node: Node, id: string) =>
  node.ctx.store.get<{ reason: string | null }>(
    'SELECT q.reason FROM quotes AS q JOIN interactions AS i ON i.key = q.interaction WHERE i.id = ?',
    id,
  )?.reason

describe('a capability with a price', () => {
  test('answers what it costs, and runs nothing', async () => {
    const before = await credits()
    const { effect, interaction_id: id } = await call('weather.now')
    expect(effect).toMatchObject({
      status: 'PAYMENT_REQUIRED',
      message: `weather.now costs 5 credits on hub:${lab.hub.aid}`,
      verifiable: false,
      payment_required: {
        x402Version: 2,
        resource: { url: `svc:${bob.aid}/weather.now` },
        accepts: [{ scheme: 'svc-credit', asset: 'credit', amount: '5', payTo: bob.aid }],
      },
    })
    expect(runs).toBe(0)
    await signed(id)
    expect((await thread(alice, id)).receipt?.status).toBe('PAYMENT_REQUIRED')
    expect(await credits()).toEqual(before)
  })

  test('is paid with --pay: a new task, held, run, captured, with both receipts', async () => {
    const [mine = 0, , theirs = 0] = await credits()
    const { effect, interaction_id: id, payment } = await call('weather.now', { pay: true })
    expect([effect.status, payment?.state]).toEqual(['UNVERIFIED', 'taken'])
    await signed(id)
    expect(await credits()).toEqual([mine - 5, 0, theirs + 5, 0])
    expect(runs).toBe(1)
    await until(
      'the payer has judged both receipts',
      async () => (await records(alice, 'svc.payment.settled')).length === 2,
    )
    const [authorized] = await records(alice, 'svc.payment.authorized')
    expect(authorized).toMatchObject({
      interaction_id: id,
      pay_to: bob.aid,
      amount: 5,
      network: `hub:${lab.hub.aid}`,
    })
    const own = await records(alice, 'svc.payment.settled')
    for (const record of own)
      expect(record).toMatchObject({ interaction_id: id, amount: 5, verified: true, payee: bob.aid })
    const served = await records(bob, 'svc.payment.settled')
    expect(served).toEqual(
      Array(2).fill({
        interaction_id: id,
        capability: 'weather.now',
        transaction: expect.any(String),
        amount: 5,
        network: `hub:${lab.hub.aid}`,
      }),
    )
  })

  test('gives the credits back when its work fails', async () => {
    const before = await credits()
    const {
      effect,
      interaction_id: id,
      payment,
    } = await call('weather.broken', { pay: true, max_credits: 7 })
    expect([effect.status, payment?.state]).toEqual(['FAILED', 'returned'])
    await signed(id)
    expect(await credits()).toEqual(before)
    await until('what moved is told', async () =>
      (await records(alice, 'svc.payment.settled')).some(
        record => (record as { amount: number }).amount === 0,
      ),
    )
  })

  test('is not paid above what was allowed for it, nor for an agent that may spend nothing', async () => {
    const before = await credits()
    const above = await call('weather.now', { pay: true, max_credits: 4 })
    expect(above.effect.status).toBe('PAYMENT_REQUIRED')
    expect((await thread(alice, above.interaction_id)).payment).toMatchObject({
      state: 'open',
      amount: 5,
      reason: 'it costs 5 credits, more than the 4 that were allowed for it',
    })
    const agent = await call('weather.now', { pay: true, pay_as: 'agent', max_credits: 50 })
    const quoted = await thread(alice, agent.interaction_id)
    expect(quoted.payment?.reason).toBe('it costs 5 credits, and 0 may be spent at once without a person')
    const listed = await alice.handlers.results({}, never)
    expect(listed.items.find(item => item.interaction_id === quoted.interaction_id)?.payment).toEqual(
      quoted.payment,
    )
    expect(quoted.actions).toContain('approve')
    expect(await credits()).toEqual(before)
  })

  test('that costs nothing is answered at once, also where it was to be paid for', async () => {
    await bob.handlers.priceSet({ capability: 'weather.now', amount: 0 }, never)
    const asked = Date.now()
    const { effect } = await call('weather.now', { pay: true })
    expect(effect.status).toBe('UNVERIFIED')
    expect(Date.now() - asked).toBeLessThan(15_000)
    await bob.handlers.priceSet({ capability: 'weather.now', amount: 5 }, never)
  })

  test('that was not bought ends the command with exit code 1, one that was with 0', async () => {
    const svc = (most: string) =>
      runIn(join(lab.folder, 'alice'), [
        ...['delegate', 'bob', '--capability', 'weather.now'],
        ...['--pay', '--max-credits', most],
      ])
    const { code, out } = await svc('4')
    expect([code, JSON.parse(out).payment.state]).toEqual([1, 'open'])
    const bought = await svc('5')
    expect([bought.code, JSON.parse(bought.out).payment.state]).toEqual([0, 'taken'])
  })

  test('that costs more than before, or was never asked about, is paid by nobody who named no most', async () => {
    const before = await credits()
    const says = async (capability: string) => {
      const { payment } = await call(capability, { pay: true })
      return [payment?.state, payment?.reason]
    }
    await bob.handlers.priceSet({ capability: 'weather.now', amount: 80 }, never)
    const dear = ['open', 'it costs 80 credits, more than the 5 that it cost before']
    expect(await says('weather.now')).toEqual(dear)
    // a script that asks the same again gets the same, also after a payment was refused with a higher price
    expect(await says('weather.now')).toEqual(dear)
    await bob.handlers.priceSet({ capability: 'weather.now', amount: 5 }, never)
    const { interaction_id: quoted } = await call('weather.now')
    await bob.handlers.priceSet({ capability: 'weather.now', amount: 80 }, never)
    const { interaction_id: refused } = await alice.handlers.approve({ interaction_id: quoted }, never)
    await until(
      'it is refused',
      async () => (await thread(alice, refused)).payment?.problem === 'said_refused',
    )
    expect(await says('weather.now')).toEqual(dear)
    await bob.handlers.priceSet({ capability: 'weather.now', amount: 5 }, never)
    await bob.handlers.priceSet({ capability: 'task', amount: 3 }, never)
    const { payment } = await alice.handlers.delegate(
      { to: 'bob', task: 'a poem', pay: true, wait_s: 20 },
      never,
    )
    expect([payment?.state, payment?.reason]).toEqual([
      'open',
      'it costs 3 credits, and nothing says that so many may be paid for it',
    ])
    await bob.handlers.priceSet({ capability: 'task', amount: 0 }, never)
    expect(await credits()).toEqual(before)
    expect((await says('weather.now'))[0]).toBe('taken')
  })

  test('is paid once a person approves, once', async () => {
    const [mine = 0, , theirs = 0] = await credits()
    const { interaction_id: quoted } = await call('weather.now', { pay: true, pay_as: 'agent' })
    const { interaction_id: paying } = await alice.handlers.approve({ interaction_id: quoted }, never)
    expect(paying).not.toBe(quoted)
    await until('it arrives', async () => (await inboxIds(bob)).includes(paying))
    await signed(paying)
    expect(await credits()).toEqual([mine - 5, 0, theirs + 5, 0])
    await expect(alice.handlers.approve({ interaction_id: quoted }, never)).rejects.toMatchObject({
      code: 'wrong_state',
    })
    expect((await thread(alice, quoted)).payment).toMatchObject({ state: 'taken', paid_as: paying })
    const { says } = await alice.handlers.verify({ interaction_id: quoted }, never)
    expect(says).toContain(`that of the work that was paid for: svc verify ${paying}`)
  })

  test('is paid without a person up to the rules, for one payment, a day and an agent', async () => {
    await expect(alice.handlers.spendSet({ auto_max: 5 }, never)).rejects.toMatchObject({
      code: 'bad_request',
    })
    const spent = (await alice.handlers.spend(undefined, never)).spent_today
    await alice.handlers.spendSet({ auto_max: 5, day_max: spent + 6, payee_day_max: spent + 6 }, never)
    const { interaction_id: quoted } = await call('weather.now')
    await until('it is paid', async () => (await thread(alice, quoted)).payment?.paid_as !== undefined)
    const again = await call('weather.now')
    await until('it waits', async () => (await thread(alice, again.interaction_id)).payment?.reason)
    expect((await thread(alice, again.interaction_id)).payment?.reason).toBe(
      'it costs 5 credits, and 1 are left of what may be spent today without a person',
    )
    await alice.handlers.spendSet({ auto_max: 0 }, never)
  })

  test('with too few credits says so, and runs nothing', async () => {
    const before = runs
    await bob.handlers.priceSet({ capability: 'weather.now', amount: 100_000 }, never)
    const { effect } = await call('weather.now', { pay: true, max_credits: 100_000 })
    expect(effect).toMatchObject({ status: 'PAYMENT_REQUIRED', message: 'the payer has too few credits' })
    expect(runs).toBe(before)
    await bob.handlers.priceSet({ capability: 'weather.now', amount: 5 }, never)
  })
})

describe('a paid call', () => {
  test.each([
    ['all of it, unless its terms say less', undefined, 5],
    ['no more than its terms say', 2, 2],
    ['nothing where its terms say so', 0, 0],
  ])('that is withdrawn while it runs costs %s', async (_, starts, cost) => {
    const { prices } = await bob.handlers.priceSet(
      { capability: 'weather.now', amount: 5, ...(starts !== undefined && { starts }) },
      never,
    )
    expect(prices).toContainEqual(expect.objectContaining({ capability: 'weather.now', starts: cost }))
    const [mine = 0, , theirs = 0] = await credits()
    const { interaction_id: quoted, payment } = await call('weather.now')
    expect(payment?.starts).toBe(cost)
    holding = []
    const { interaction_id: paid } = await alice.handlers.approve({ interaction_id: quoted }, never)
    await until('it runs', () => holding?.length === 1)
    const withdrawn = await alice.handlers.cancel({ interaction_id: paid }, never)
    expect(withdrawn.may_cost).toBe(cost === 0 ? undefined : cost)
    await until('the provider knows', async () => (await thread(bob, paid)).state === 'cancelled')
    for (const answer of holding) answer()
    holding = undefined
    await until('nothing is held', async () => (await credits())[1] === 0)
    expect(await credits()).toEqual([mine - cost, 0, theirs + cost, 0])
    const state = cost === 0 ? 'returned' : 'taken'
    expect((await thread(bob, paid)).payment).toMatchObject({
      state,
      ...(cost === 2 && { taken: 2 }),
    })
    alice.ctx.wakers.spending.wake()
    await until('its payer knows', async () => (await thread(alice, paid)).payment?.state === state)
    expect((await thread(alice, quoted)).payment?.state).toBe(state)
    expect((await records(alice, 'svc.payment.settled')).at(-1)).toMatchObject({
      interaction_id: paid,
      amount: cost,
    })
  })

  test('that its requester ends while it runs costs no more than a withdrawal', async () => {
    await bob.handlers.priceSet({ capability: 'weather.now', amount: 5, starts: 2 }, never)
    const [mine = 0] = await credits()
    const { interaction_id: quoted } = await call('weather.now')
    holding = []
    const { interaction_id: paid } = await alice.handlers.approve({ interaction_id: quoted }, never)
    await until('it runs', () => holding?.length === 1)
    await alice.handlers.end({ interaction_id: paid, mode: 'either' }, never)
    await until('the provider knows', async () => (await thread(bob, paid)).state === 'end_proposed')
    for (const answer of holding) answer()
    holding = undefined
    await until('nothing is held', async () => (await credits())[1] === 0)
    expect((await credits())[0]).toBe(mine - 2)
    await bob.handlers.priceSet({ capability: 'weather.now', amount: 5 }, never)
  })

  test('cannot cost more to withdraw than to have done', async () => {
    await expect(
      bob.handlers.priceSet({ capability: 'weather.now', amount: 5, starts: 6 }, never),
    ).rejects.toMatchObject({ code: 'bad_request' })
  })

  test('shows its payment, and what was measured, on both sides', async () => {
    const { interaction_id: id, payment } = await call('weather.now', { pay: true })
    expect(payment).toMatchObject({ amount: 5, network: `hub:${lab.hub.aid}` })
    await signed(id)
    await until('it was taken', async () => (await thread(alice, id)).payment?.state === 'taken')
    for (const node of [alice, bob]) {
      const shown = await thread(node, id)
      expect(shown.payment).toMatchObject({ amount: 5, state: 'taken' })
      expect(shown.turns.map(({ text }) => text).join()).toContain('celsius: 21')
    }
    const [entry] = (await alice.handlers.balance({}, never)).entries
    expect(entry).toMatchObject({ delta: -5, reason: 'paid', payment: 'taken', paid: 5, contact: 'bob' })
  })

  test('whose order the hub refuses is answered, and stays open until the hub signs its end, with one record', async () => {
    const credits = bob.ctx.hub.home?.credits
    if (credits === undefined) throw new Error('no hub')
    const honest = credits.endHold.bind(credits)
    credits.endHold = async () => ({ refused: 'hold_ended', says: 'the hold has ended already' })
    const { interaction_id: id } = await call('weather.now', { pay: true })
    await signed(id)
    expect((await thread(bob, id)).payment).toMatchObject({ state: 'held', problem: 'hold_ended' })
    expect((await bob.handlers.status(undefined, never)).warnings.join()).toContain(
      'its hub says that the hold has ended, and signed nothing',
    )
    expect(await bob.handlers.reconcile({}, never)).toMatchObject({
      agrees: false,
      open: [{ interaction_id: id, amount: 5, problem: 'hold_ended' }],
    })
    credits.endHold = honest
    expect(await bob.handlers.reconcile({}, never)).toMatchObject({ agrees: true, open: [] })
    expect((await thread(bob, id)).payment?.state).toBe('taken')
    const ofTask = async () =>
      (await records(bob, 'svc.payment.settled')).filter(
        record => (record as { interaction_id: string }).interaction_id === id,
      )
    expect((await ofTask()).map(record => (record as { amount: number }).amount)).toEqual([5, 5])
  })

  test('is signed anew and taken where its provider rotates its key before the hub has answered', async () => {
    const credits = bob.ctx.hub.home?.credits
    if (credits === undefined) throw new Error('no hub')
    const [, , theirs = 0] = await has()
    const honest = credits.endHold.bind(credits)
    credits.endHold = async () => Promise.reject(new HubUnreachable(bob.ctx.hub.home?.url ?? ''))
    const { interaction_id: quoted } = await call('weather.now')
    const { interaction_id: id } = await alice.handlers.approve({ interaction_id: quoted }, never)
    await until('the order waits', () => heldOrders() > 0)
    expect((await bob.handlers.idRotate({}, never)).waits).toMatchObject({ orders: 1 })
    credits.endHold = honest
    await until('it is taken', async () => (await thread(bob, id)).payment?.state === 'taken')
    expect((await has())[2]).toBe(theirs + 5)
    await signed(id)
  })

  test('of a stranger is approved once: its price is told without asking', async () => {
    const carol = await lab.member('carol')
    const asked = { to: bob.aid, capability: 'weather.now', wait_s: 20 }
    const { effect, interaction_id: quoted } = await carol.handlers.delegate(asked, never)
    expect((effect as Effect).status).toBe('PAYMENT_REQUIRED')
    const { interaction_id: paid } = await carol.handlers.approve({ interaction_id: quoted }, never)
    await until('it waits', async () =>
      (await bob.handlers.inbox({ pending: true }, never)).items.some(
        ({ interaction_id: id }) => id === paid,
      ),
    )
    await bob.handlers.approve({ interaction_id: paid }, never)
    await until('it is paid', async () => (await thread(carol, paid)).payment?.state === 'taken')
  })

  test('that the hub refuses, or a person ordered, takes nothing for good from what may be spent without one', async () => {
    const spent = async () => (await alice.handlers.spend(undefined, never)).spent_today
    const before = await spent()
    await call('weather.now', { pay: true })
    expect(await spent()).toBe(before)
    await bob.handlers.priceSet({ capability: 'weather.now', amount: 100_000 }, never)
    await alice.handlers.spendSet({ auto_max: 100_000, day_max: 200_000, payee_day_max: 200_000 }, never)
    const { interaction_id: quoted } = await call('weather.now')
    await until(
      'it is refused',
      async () => (await thread(alice, quoted)).payment?.problem === 'said_refused',
    )
    expect((await thread(alice, quoted)).payment?.reason).toBe(
      'the other side says that it was refused: the payer has too few credits',
    )
    const paid = (await thread(alice, quoted)).payment?.paid_as ?? ''
    await until('it waits for a person', () => quoteReason(alice, paid))
    expect(await quoteReason(alice, paid)).toContain('a payment for it is out already')
    // the provider may say so and take it all the same: only the hub ends it, once the authorization is over
    expect(await spent()).toBe(before + 100_000)
    lab.hub.clock.advance(2 * 3_600_000)
    const paidAs = (await thread(alice, quoted)).payment?.paid_as
    expect((await alice.handlers.reconcile({}, never)).lapsed).toContain(paidAs)
    expect(await spent()).toBe(before)
    await alice.handlers.spendSet({ auto_max: 0 }, never)
    await bob.handlers.priceSet({ capability: 'weather.now', amount: 5 }, never)
  })
})

describe('credits outside of tasks', () => {
  test('go back to the hub against a reference, with its receipt, once', async () => {
    const [mine = 0] = await credits()
    const redeemed = await alice.handlers.redeem({ amount: 3, reference: 'invoice-7' }, never)
    expect(redeemed).toMatchObject({ amount: 3, reference: 'invoice-7', verified: true })
    expect((await credits())[0]).toBe(mine - 3)
    expect((await records(alice, 'svc.credit.redeemed')).at(-1)).toMatchObject({
      amount: 3,
      reference: 'invoice-7',
      auth_id: redeemed.auth_id,
      verified: true,
      receipt: expect.any(String),
    })
    await expect(alice.handlers.redeem({ amount: 1_000_000 }, never)).rejects.toMatchObject({
      code: 'hub_refused',
      message: 'the hub redeemed nothing: the payer has too few credits',
    })
  })

  test('are given in a header for plain HTTP, which settles nothing until its payee does', async () => {
    const before = await credits()
    const { header } = await alice.handlers.payHeader({ pay_to: 'bob', amount: 2 }, never)
    expect(await credits()).toEqual(before)
    const paymentPayload = JSON.parse(Buffer.from(header, 'base64').toString('utf8'))
    const body = { x402Version: 2, paymentPayload, paymentRequirements: paymentPayload.accepted }
    expect((await ask(lab.hub, 'x402Settle', body)).json['success']).toBe(true)
    expect((await credits())[0]).toBe((before[0] ?? 0) - 2)
  })

  test('are compared with the ledger of the hub, which can take none without a signature', async () => {
    const compared = await alice.handlers.reconcile({}, never)
    expect(compared).toMatchObject({ network: `hub:${lab.hub.aid}`, agrees: true, unknown: [] })
    expect(compared.entries).toBeGreaterThan(5)
  })
})

describe('what the hub publishes of its credits', () => {
  const audit = (more: object = {}) => alice.handlers.auditHub(more, never)

  test('is said in one line to the person who joins it', async () => {
    const { code, err } = await runIn(
      join(lab.folder, 'alice'),
      ['hub-register', lab.hub.url],
      {},
      { onTerminal: true },
    )
    expect({ code, err }).toEqual({ code: 0, err: expect.stringContaining(PUBLISHED) })
  })

  test('is verified, and the head that was seen stands in the chain', async () => {
    const report = await audit({ all: true })
    expect(report).toMatchObject({ hub: lab.hub.aid, verified: true, issued: expect.any(Number) })
    const [seen] = (await records(alice, 'svc.issuance.head_seen')).slice(-1)
    expect(seen).toMatchObject({
      chain_did: `did:svc:${lab.hub.aid}`,
      seq: report.head_seq,
      head_id: report.head_id,
    })
    expect((await audit()).records).toBe(report.records)
    expect(await records(alice, 'svc.issuance.head_seen')).toHaveLength(1)
  })

  test('counts this account at the end of each day', async () => {
    lab.hub.clock.advance(86_400_000)
    await lab.hub.running.order({ command: 'clock', accept: true })
    await lab.hub.running.hub.books.turn()
    const [mine] = await credits()
    expect(await audit()).toMatchObject({ verified: true, owed: mine, day: expect.any(Number) })
  })

  test('when it cannot be true, ends payments until a person says so', async () => {
    const home = alice.ctx.hub.home
    if (home === undefined) throw new Error('no hub')
    const honest = home.credits.supplyRecords.bind(home.credits)
    home.credits.supplyRecords = async (from, signal) => {
      const page = await honest(from, signal)
      return { ...page, headId: 'another' }
    }
    const report = await audit()
    expect(report).toMatchObject({ verified: false, fault: expect.stringContaining('not the last record') })
    const { warnings } = await alice.handlers.status(undefined, never)
    expect(warnings.join()).toContain('nothing is paid in credits of')
    const { interaction_id: id } = await call('weather.now', { pay: true })
    expect((await thread(alice, id)).payment?.reason).toContain('nothing is paid in credits of this hub')
    home.credits.supplyRecords = honest
    expect(await audit({ accept: true })).toMatchObject({ verified: true })
    expect((await alice.handlers.status(undefined, never)).warnings.join()).not.toContain('nothing is paid')
  })

  const home = () => {
    const { home } = alice.ctx.hub
    if (home === undefined) throw new Error('no hub')
    return home
  }

  test('a debit that was never signed is told, and ends payments', async () => {
    const { credits: honest } = home()
    const entriesAfter = honest.entriesAfter.bind(honest)
    honest.entriesAfter = async (seq, signal) => [
      {
        seq: seq + 1,
        atMs: lab.hub.clock.now(),
        delta: -3,
        reason: 'paid',
        transaction: 'unsigned',
        counterparty: bob.aid,
      },
      ...(await entriesAfter(seq, signal)),
    ]
    const report = await audit()
    expect(report.fault).toContain(
      'it took 3 credits by unsigned, which this node did not sign: another program has the key',
    )
    honest.entriesAfter = entriesAfter
    expect(await audit({ accept: true })).toMatchObject({ verified: true })
  })

  test('a ledger that comes to more than the tree says is told', async () => {
    const { credits: honest } = home()
    const entriesAfter = honest.entriesAfter.bind(honest)
    honest.entriesAfter = async (from, signal) => {
      const shown = await entriesAfter(from, signal)
      const { seq = 0, atMs = 0 } = shown[0] ?? {}
      return [
        ...shown,
        { seq, atMs, delta: 4, reason: 'received', transaction: 'more', counterparty: bob.aid },
      ]
    }
    lab.hub.clock.advance(86_400_000)
    await call('weather.now', { pay: true })
    lab.hub.clock.advance(86_400_000)
    await lab.hub.running.order({ command: 'clock', accept: true })
    await lab.hub.running.hub.books.turn()
    expect((await audit()).fault).toMatch(/its ledger comes to \d+ credits for this agent, and the tree/)
    honest.entriesAfter = entriesAfter
    expect(await audit({ accept: true })).toMatchObject({ verified: true })
  })

  test('no proof for an account that has credits is told', async () => {
    const { credits: honest } = home()
    const liability = honest.liability.bind(honest)
    honest.liability = async () => undefined
    expect((await audit()).fault).toMatch(/its ledger comes to \d+ .* the tree of its epoch to 0/)
    honest.liability = liability
    expect(await audit({ accept: true })).toMatchObject({ verified: true })
  })

  test('a payment that its hub signed and does not show is told to its payee', async () => {
    const { home } = bob.ctx.hub
    if (home === undefined) throw new Error('no hub')
    const entriesAfter = home.credits.entriesAfter.bind(home.credits)
    await call('weather.now', { pay: true })
    home.credits.entriesAfter = async () => []
    await until('its hub answers the order again, and shows nothing', async () =>
      (await bob.handlers.auditHub({}, never)).fault?.includes(
        'was paid to this agent, and its ledger has no such entry',
      ),
    )
    home.credits.entriesAfter = entriesAfter
    expect(await bob.handlers.auditHub({ accept: true }, never)).toMatchObject({ verified: true })
  })

  test('two heads at one place end payments at once, and both stand in the chain', async () => {
    const { aid } = home().identity
    const seen = seenHeads(alice.ctx.store, aid)
    const [[seq, id] = [0, new Uint8Array()]] = seen
    const other = Uint8Array.from(id, (byte, i) => (i === 35 ? byte ^ 1 : byte))
    paymentParts(alice.ctx).heads.note(aid, [seq, other])
    expect((await alice.handlers.status(undefined, never)).warnings.join()).toContain('shows two histories')
    const heads = (await records(alice, 'svc.issuance.head_seen')).slice(-2)
    expect(heads.map(head => (head as { seq: number }).seq)).toEqual([seq, seq])
    expect(await audit({ accept: true })).toMatchObject({ verified: true })
  })

  test('a head that a receipt named and its chain does not have is told', async () => {
    const { aid } = home().identity
    const { head_seq } = await audit()
    const [[, id] = [0, new Uint8Array()]] = seenHeads(alice.ctx.store, aid)
    paymentParts(alice.ctx).heads.note(aid, [
      head_seq + 1,
      Uint8Array.from(id, (byte, i) => (i === 35 ? byte ^ 1 : byte)),
    ])
    expect((await audit()).fault).toContain('and it is missing')
    await bob.handlers.redeem({ amount: 1 }, never)
    expect((await audit()).fault).toContain('the hub showed another one before')
    expect(await audit({ accept: true })).toMatchObject({ verified: true })
  })
})
