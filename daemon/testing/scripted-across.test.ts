/** Two ledgers in memory that pay each other as hubs do: both books say the same once everything was answered. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Authorization, HoldOrder, networkOf, transactionOf } from '../../protocol/proof/payment.ts'
import type { Settled } from '../hubs/hub.ts'
import { paymentParts } from '../payments/parts.ts'
import { quoteOfRow } from '../payments/receipts.ts'
import { PaidWorld, type PayingNode } from './paying.ts'
import { Post, ScriptedHub } from './scripted-hub.ts'

const LIMIT = 20
const { signal } = new AbortController()
let world: PaidWorld
let alice: PayingNode
let bob: PayingNode
let theirs: Post
/** The account of bob at his own hub. */
let home: ScriptedHub

beforeEach(async () => {
  world = new PaidWorld()
  ;({ alice, bob } = await world.paid())
  theirs = new Post({
    now: () => world.clock.ms,
    seed: new Uint8Array(32).fill(203),
    url: 'http://other.test',
  })
  home = new ScriptedHub(theirs, bob.node.aid, () => world.clock.ms)
  const { keySet } = world.post.listed.get(bob.node.aid) as { keySet: Parameters<ScriptedHub['list']>[1] }
  home.list(bob.node.ctx.identity.log, keySet)
  world.post.listed.delete(bob.node.aid)
  world.post.list(theirs)
  theirs.list(world.post, LIMIT)
})
afterEach(() => world[Symbol.asyncDispose]())

const ours = () => world.post.ledger
const signed = (amount: number, holdSeconds?: number): Uint8Array =>
  Authorization.encode(
    paymentParts(alice.node.ctx).signer.sign({
      payTo: bob.node.aid,
      amount,
      network: networkOf(world.post.log.aid),
      ...(holdSeconds === undefined ? {} : { holdSeconds }),
    }),
  )
const settle = (authorization: Uint8Array): Promise<Settled> =>
  home.credits.settle(authorization, quoteOfRow({ authorization }), signal)
const said = (answer: Settled) => ('refused' in answer ? answer.refused : 'receipt')
function order(authorization: Uint8Array, amount: number): Uint8Array {
  const { identity } = bob.node.ctx
  const body = {
    v: 1,
    transaction: transactionOf(Authorization.decode(authorization)),
    amount,
    payee: bob.node.aid,
    payeeKelSeq: identity.log.seq,
    madeAt: world.clock.ms,
  } as const
  return HoldOrder.encode(HoldOrder.sign(identity.seed, body))
}
/** What both have, and what each hub says that it owes the other one. */
const books = () => [
  ours().balanceOf(alice.node.aid).balance,
  theirs.ledger.balanceOf(bob.node.aid).balance,
  ours().dueTo(theirs.log.aid),
  theirs.ledger.dueTo(world.post.log.aid),
]

describe('a payment between two ledgers', () => {
  test('is booked at both, is signed by both, and is made once', async () => {
    const paid = signed(7)
    const answer = await settle(paid)
    expect('peerReceipt' in answer).toBe(true)
    expect(await settle(paid)).toEqual(answer)
    expect(books()).toEqual([93, 7, 7, -7])
  })

  test.each(['lost_before', 'lost_after'] as const)('waits where its answer is %s', async kind => {
    const paid = signed(7)
    theirs.ledger.next('peer', { kind })
    expect(said(await settle(paid))).toBe('settlement_pending')
    expect(said(await settle(paid))).toBe('receipt')
    expect(books()).toEqual([93, 7, 7, -7])
  })

  test('that nobody asks for again is asked for by the hub once its time is over', async () => {
    theirs.ledger.next('peer', { kind: 'lost_after' })
    await settle(signed(7))
    world.pass(2 * 3_600_000)
    theirs.ledger.across.tick()
    expect(books()).toEqual([93, 7, 7, -7])
  })

  test('is refused beyond what the peer may owe, open ones counted', async () => {
    theirs.ledger.isAway = true
    expect(said(await settle(signed(15)))).toBe('settlement_pending')
    theirs.ledger.isAway = false
    expect(said(await settle(signed(6)))).toBe('peer_limit')
  })

  test('waits while a hub does not list the other one, and a new one is refused', async () => {
    const paid = signed(7)
    ours().isAway = true
    await settle(paid)
    ours().isAway = false
    theirs.unlist(world.post)
    world.post.unlist(theirs)
    theirs.list(world.post, LIMIT)
    expect(said(await settle(paid))).toBe('settlement_pending')
    world.post.list(theirs)
    expect(said(await settle(paid))).toBe('receipt')
  })
})

describe('a hold between two ledgers', () => {
  test('posts nothing at the hub of the payee until its order is answered', async () => {
    const held = signed(7, 7200)
    expect(said(await settle(held))).toBe('receipt')
    expect(books()).toEqual([93, 0, 0, 0])
    theirs.ledger.next('peer', { kind: 'lost_after' })
    const capture = order(held, 5)
    expect(said(await home.credits.endHold(capture, 'capture', signal))).toBe('settlement_pending')
    expect(books()).toEqual([95, 0, 5, 0])
    world.pass(11_000)
    theirs.ledger.across.tick()
    expect(books()).toEqual([95, 5, 5, -5])
    expect(said(await home.credits.endHold(capture, 'capture', signal))).toBe('receipt')
  })

  test('that lapses without an order is known to both to be given back', async () => {
    const held = signed(7, 3600)
    await settle(held)
    world.pass(4 * 3_600_000)
    theirs.ledger.across.tick()
    expect(books()).toEqual([100, 0, 0, 0])
    expect(theirs.ledger.receiptOf(transactionOf(Authorization.decode(held)), true)).toBeDefined()
  })
})

describe('credits that go back between two ledgers', () => {
  /** What bob signs at the hub of alice to give back a payment of hers. */
  const refundOf = (paid: Uint8Array, amount: number): Uint8Array =>
    Authorization.encode(
      paymentParts(bob.node.ctx).signer.sign({
        payTo: alice.node.aid,
        amount,
        network: networkOf(theirs.log.aid),
        refundOf: transactionOf(Authorization.decode(paid)),
      }),
    )
  const back = (refund: Uint8Array): Promise<Settled> =>
    alice.node.hub.credits.settle(refund, quoteOfRow({ authorization: refund }), signal)

  test('are given back by the hub of the requester, which asks that of the provider, once', async () => {
    const paid = signed(7)
    await settle(paid)
    const refund = refundOf(paid, 5)
    const answer = await back(refund)
    expect('peerReceipt' in answer).toBe(true)
    expect(await back(refund)).toEqual(answer)
    expect(books()).toEqual([98, 2, 2, -2])
  })

  test('are given back by no other hub, and not beyond the payment', async () => {
    const paid = signed(7)
    await settle(paid)
    const refund = refundOf(paid, 5)
    expect(said(await home.credits.settle(refund, quoteOfRow({ authorization: refund }), signal))).toBe(
      'invalid_payload',
    )
    expect(said(await back(refundOf(paid, 8)))).not.toBe('receipt')
    expect(books()).toEqual([93, 7, 7, -7])
  })

  test('are given to nobody without an account, also once the hub lists no other one', async () => {
    const paid = signed(7)
    await settle(paid)
    const refund = refundOf(paid, 7)
    theirs.unlist(world.post)
    expect(said(await home.credits.settle(refund, quoteOfRow({ authorization: refund }), signal))).toBe(
      'invalid_payload',
    )
    expect(said(await settle(paid))).toBe('receipt')
    expect(books()).toEqual([93, 7, 7, -7])
  })

  test.each(['lost_before', 'lost_after'] as const)('wait where the answer is %s', async kind => {
    const paid = signed(7)
    await settle(paid)
    const refund = refundOf(paid, 7)
    ours().next('peer', { kind })
    expect(said(await back(refund))).toBe('settlement_pending')
    expect(said(await back(refund))).toBe('receipt')
    expect(books()).toEqual([100, 0, 0, 0])
  })
})

describe('credits that an agent takes along', () => {
  /** Alice registers at the other hub, and pays herself there in the credits of the first one. */
  const account = () => {
    const at = new ScriptedHub(theirs, alice.node.aid, () => world.clock.ms)
    const { keySet } = world.post.listed.get(alice.node.aid) as { keySet: Parameters<ScriptedHub['list']>[1] }
    at.list(alice.node.ctx.identity.log, keySet)
    return at
  }
  const toHerself = (amount: number): Uint8Array => {
    const network = networkOf(world.post.log.aid)
    const { signer } = paymentParts(alice.node.ctx)
    return Authorization.encode(signer.sign({ payTo: alice.node.aid, amount, network }))
  }

  test('leave one account and come to the other, once', async () => {
    const [at, move] = [account(), toHerself(9)]
    const ask = () => at.credits.settle(move, quoteOfRow({ authorization: move }), signal)
    theirs.ledger.next('peer', { kind: 'lost_after' })
    expect(said(await ask())).toBe('settlement_pending')
    expect(said(await ask())).toBe('receipt')
    expect(said(await ask())).toBe('receipt')
    expect(theirs.ledger.balanceOf(alice.node.aid).balance).toBe(9)
    expect(books()).toEqual([91, 0, 9, -9])
  })

  test('are not more than the hub that was left may owe', async () => {
    const [at, move] = [account(), toHerself(LIMIT + 1)]
    const answer = await at.credits.settle(move, quoteOfRow({ authorization: move }), signal)
    expect(said(answer)).toBe('peer_limit')
    expect(books()).toEqual([100, 0, 0, 0])
  })
})

describe('a hub that was put back to before a payment', () => {
  test.each([
    ['of the payer takes back what it had signed', () => world.post],
    ['of the payee books what the other one shows', () => theirs],
  ])('%s', async (_, post) => {
    const back = post().backup()
    await settle(signed(7))
    world.pass(60_000)
    back()
    for (const { across } of [ours(), theirs.ledger]) across.tick()
    expect(books()).toEqual([93, 7, 7, -7])
  })

  test('of the payer opens a lost hold again once its end is asked for', async () => {
    const back = world.post.backup()
    const held = signed(7, 7200)
    await settle(held)
    back()
    const capture = order(held, 7)
    expect(said(await home.credits.endHold(capture, 'capture', signal))).toBe('settlement_pending')
    expect(said(await home.credits.endHold(capture, 'capture', signal))).toBe('receipt')
    expect(books()).toEqual([93, 7, 7, -7])
  })
})

test('mail goes to who is listed at the other hub, whose word on it is asked for there', async () => {
  const { id } = alice.node.delegate(bob.node)
  await alice.node.send()
  expect(theirs.carried.map(({ to }) => to)).toEqual([bob.node.aid])
  const [sent] = alice.node.messages(id)
  expect(alice.node.entry(sent?.key).viaHub).toBe(theirs.log.aid)
  world.post.unlist(theirs)
  const other = alice.node.delegate(bob.node, 'another task')
  await alice.node.send()
  expect(theirs.carried).toHaveLength(1)
  expect(alice.node.messages(other.id)[0]?.delivery).not.toBe('delivered')
})
