/** One paid use of a capability: bought at the gateway of a hub of wire 1, taken by the gate of a node. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readConfig, writeConfig } from '../../daemon/home/config.ts'
import type { Node } from '../../daemon/node.ts'
import { SpentVouchers } from '../../daemon/vouchers/spent.ts'
import { type Paying, payment } from '../../hub/testing/payments.ts'
import { type OpenAgent, paymentHeader, Wire1Client } from '../../hub/testing/wire1.ts'
import { contentId } from '../../protocol/crypto/hash.ts'
import { fromBase64, toBase64 } from '../../protocol/encoding/bytes.ts'
import { documentBytes } from '../../protocol/proof/documents.ts'
import { callPurpose, Voucher } from '../../protocol/proof/voucher.ts'
import { type Lab, never, openLab, texts, until } from './world.ts'

const CAPABILITY = 'blackboard.write'
const PRICE = 5

let lab: Lab
let client: Wire1Client
let bob: Node
let alice: OpenAgent
let url = ''

beforeAll(async () => {
  lab = await openLab({}, { wires: [1] })
  client = new Wire1Client(lab.hub)
  alice = await client.registered({ name: 'alice' })
  const port = await freePort()
  url = `http://127.0.0.1:${port}/redeem`
  const dir = join(lab.folder, 'bob')
  const config = {
    ...readConfig(dir),
    ...{ voucher_addr: `127.0.0.1:${port}`, voucher_url: url, caps: [CAPABILITY] },
    ...{ prices: { [CAPABILITY]: PRICE }, modules: { blackboard: { allow: [alice.aid] } } },
  }
  writeConfig(dir, config as never)
  bob = await lab.member('bob')
})
afterAll(() => lab.close())

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  await new Promise(done => server.close(done))
  return port
}

async function buy(from: OpenAgent, more: Paying = {}): Promise<string> {
  const paid = payment(from, { aid: bob.aid }, PRICE, more)
  const header = { 'PAYMENT-SIGNATURE': paymentHeader(paid) }
  const path = `/x402/resource/${bob.aid}/${CAPABILITY}`
  const { status, json } = await client.ask('GET', path, undefined, header)
  expect([status, json['redeem_at']]).toEqual([200, url])
  return String(json['voucher'])
}

type Shown = { voucher: string; capability?: string; args?: Record<string, unknown> }
async function show({ voucher, capability = CAPABILITY, args = {} }: Shown) {
  const answer = await fetch(url, { method: 'POST', body: JSON.stringify({ voucher, capability, args }) })
  return { status: answer.status, json: (await answer.json()) as Record<string, unknown> }
}
let notes = 0
const note = () => ({ name: `note-${++notes}`, text: 'bought' })
const events = (type: string) =>
  bob.ctx.chain.read({ eventType: type }).map(({ payload }) => payload as Record<string, unknown>)
const [redeemed, refused] = ['svc.voucher.redeemed', 'svc.voucher.refused']

describe('a voucher', () => {
  test('buys one use: it stands in the chain before the work, and its effect after it', async () => {
    const voucher = await buy(alice)
    const before = bob.ctx.chain.length
    const { status, json } = await show({ voucher, args: note() })
    expect([status, json['status']]).toEqual([200, 'OK'])
    const { body } = Voucher.decode(fromBase64(voucher))
    expect(bob.ctx.chain.read({ since: before }).map(({ event_type: type }) => type)).toEqual([
      redeemed,
      'svc.capability.effect',
    ])
    expect(events(redeemed).at(-1)).toEqual({
      voucher_id: Buffer.from(body.id).toString('base64url'),
      auth_id: expect.any(String),
      payer: alice.aid,
      capability: CAPABILITY,
      amount: PRICE,
      network: `hub:${lab.hub.aid}`,
    })
    expect(events('svc.capability.effect').at(-1)).toEqual({
      ...{ interaction_id: expect.any(String), capability: CAPABILITY, status: 'OK', via: 'voucher' },
    })
  })

  test('is held against the account: a hub that lost its payment is told of', async () => {
    const reconciled = () => bob.handlers.reconcile({}, never)
    const voucher = await buy(alice)
    await show({ voucher, args: note() })
    expect(await reconciled()).toMatchObject({ agrees: true })
    const { body } = Voucher.decode(fromBase64(voucher))
    const lost = { ...body, id: body.id.map(byte => byte ^ 1), transaction: body.transaction.with(20, 7) }
    const { chain, store } = bob.ctx
    store.transaction(() => new SpentVouchers(chain, store).take(lost), 'test')
    // entries of this wire name no payment, so the sum alone says that one is missing
    const missing = [expect.objectContaining({ kind: 'received', amount: PRICE })]
    expect(await reconciled()).toMatchObject({ agrees: false, missing })
  })

  test('buys no second one, and that is said in the chain once', async () => {
    const voucher = await buy(alice)
    const answers = await Promise.all([1, 2, 3].map(() => show({ voucher, args: note() })))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409])
    expect(answers.find(({ status }) => status === 409)?.json).toMatchObject({ reason: 'redeemed' })
    const { body } = Voucher.decode(fromBase64(voucher))
    const id = Buffer.from(body.id).toString('base64url')
    expect(events(refused).filter(one => one['voucher_id'] === id)).toEqual([
      { reason: 'redeemed', capability: CAPABILITY, payer: alice.aid, voucher_id: id },
    ])
  })

  test('runs under the name of its payer, whom an allow list may not have', async () => {
    const mallory = await client.registered({ name: 'mallory' })
    const { json } = await show({ voucher: await buy(mallory), args: note() })
    expect(json).toMatchObject({ status: 'UNAVAILABLE' })
  })

  test('that was paid for with arguments is good for those alone', async () => {
    const args = note()
    const purpose = callPurpose(contentId(documentBytes({ capability: CAPABILITY, args })))
    const voucher = await buy(alice, { purpose })
    expect(await show({ voucher, args: note() })).toMatchObject({
      status: 403,
      json: { reason: 'other_arguments' },
    })
    expect(await show({ voucher, args })).toMatchObject({ status: 200, json: { status: 'OK' } })
  })

  test('of ten minutes ago is over', async () => {
    const voucher = await buy(alice)
    lab.hub.clock.advance(11 * 60_000)
    expect(await show({ voucher, args: note() })).toMatchObject({ status: 403, json: { reason: 'expired' } })
  })

  test('under a key that the hub rotated to is taken as well', async () => {
    await lab.hub.running.order({ command: 'rotate' })
    const voucher = await buy(alice)
    expect(Voucher.decode(fromBase64(voucher)).body.hubKelSeq).toBe(1)
    expect(await show({ voucher, args: note() })).toMatchObject({ status: 200, json: { status: 'OK' } })
  })

  test('whose record the disk did not take is good still', async () => {
    const voucher = await buy(alice)
    const { chain } = bob.ctx
    const append = chain.append.bind(chain)
    chain.append = () => {
      throw new Error('no room')
    }
    expect((await show({ voucher, args: note() })).status).toBe(500)
    chain.append = append
    expect(await show({ voucher, args: note() })).toMatchObject({ status: 200, json: { status: 'OK' } })
  })

  test('is spent after a start too', async () => {
    const voucher = await buy(alice)
    await show({ voucher, args: note() })
    await bob.stop()
    bob = await lab.start('bob')
    await until('it listens', () =>
      show({ voucher, args: note() }).then(
        ({ status }) => status === 409,
        () => false,
      ),
    )
    const { body } = Voucher.decode(fromBase64(voucher))
    expect(new SpentVouchers(bob.ctx.chain, bob.ctx.store).has(body)).toBe(true)
  })
})

describe('nothing is spent, and nothing of it stands in the chain, for', () => {
  const unchanged = async (shown: Shown | string, expected: { status: number; reason: string }) => {
    const before = bob.ctx.chain.length
    const answer = typeof shown === 'string' ? await fetch(url, { method: 'POST', body: shown }) : undefined
    const told =
      answer === undefined
        ? await show(shown as Shown)
        : { status: answer.status, json: (await answer.json()) as Record<string, unknown> }
    expect({ status: told.status, reason: told.json['reason'] }).toEqual(expected)
    expect(bob.ctx.chain.length).toBe(before)
  }

  test('what is no voucher, or no call', async () => {
    const malformed = { status: 400, reason: 'malformed' }
    await unchanged({ voucher: 'AAAA' }, malformed)
    await unchanged('{', malformed)
    await unchanged('{"voucher":"AAAA"}', malformed)
    await unchanged(JSON.stringify({ voucher: 'A'.repeat(4_000_000) }), malformed)
  })

  test('one that somebody else signed', async () => {
    const { body } = Voucher.decode(fromBase64(await buy(alice)))
    const voucher = toBase64(Voucher.encode(Voucher.sign(alice.seed, body)))
    await unchanged({ voucher, args: note() }, { status: 403, reason: 'forged' })
  })

  test('a capability that the node does not have', async () => {
    await unchanged(
      { voucher: await buy(alice), capability: 'text.count' },
      { status: 404, reason: 'not_served' },
    )
  })
})

describe('a node that buys', () => {
  let carol: Node
  beforeAll(async () => {
    carol = await lab.member('carol')
    await carol.handlers.contactAdd({ aid: bob.aid, petname: 'bob' }, never)
  })

  test('pays by the header that it makes, and its books agree with those of the hub', async () => {
    const { header } = await carol.handlers.payHeader({ pay_to: 'bob', amount: PRICE }, never)
    const path = `/x402/resource/${bob.aid}/${CAPABILITY}`
    const { status, json } = await client.ask('GET', path, undefined, { 'PAYMENT-SIGNATURE': header })
    expect([status, json['redeem_at']]).toEqual([200, url])
    expect(await carol.handlers.reconcile({}, never)).toMatchObject({ agrees: true })
    expect(await carol.handlers.auditHub({}, never)).toMatchObject({ verified: true })
  })

  test('audits a hub that proves nothing of what it owes by its chain and its entries', async () => {
    lab.hub.clock.advance(86_400_000)
    await lab.hub.running.hub.books.turn()
    const epochs = async () =>
      ((await client.get('/x402/issuance')).json['entries'] as { kind: string }[]).filter(({ kind }) =>
        kind.endsWith('epoch'),
      )
    expect((await epochs()).length).toBeGreaterThan(0)
    for (const node of [carol, bob]) {
      expect(await node.handlers.auditHub({}, never)).toMatchObject({ verified: true })
      expect(await node.handlers.reconcile({}, never)).toMatchObject({ agrees: true })
    }
  })

  test('is told that a task with a price takes a hub that holds credits', async () => {
    const asked = { to: 'bob', capability: CAPABILITY, args: note() }
    const { interaction_id: id } = await carol.handlers.delegate(asked, never)
    await until('it is answered', async () =>
      (await texts(carol, id)).some(text => text?.includes('for vouchers alone')),
    )
  })
})

test('another path and another method are refused', async () => {
  expect((await fetch(url.replace('/redeem', '/'))).status).toBe(404)
  expect((await fetch(url)).status).toBe(405)
})

test('an address that is taken is a warning, and the node runs on', async () => {
  const dir = join(lab.folder, 'dora')
  const voucher_addr = new URL(url).host
  writeConfig(dir, { ...readConfig(dir), voucher_addr, voucher_url: url })
  const dora = await lab.start('dora')
  const { warnings } = await dora.handlers.status(undefined, never)
  expect(JSON.stringify(warnings)).toContain('voucher_addr')
})
