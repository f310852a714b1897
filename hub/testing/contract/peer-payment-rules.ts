/** The contract of the store on payments in the credits of peers. */
import { expect } from 'vitest'
import type { Posting } from '../../store/ledger-port.ts'
import type { AskedPayment, OpenPeerPayment } from '../../store/peer-payment-port.ts'
import { bytes, NOW_MS, type Rule, rule, type World } from './world.ts'

const PEER = 'hub-peer'
const LATER_MS = NOW_MS + 60_000
const idOf = (n: number): Uint8Array => bytes(36, n)

const asked = (n: number, amount: number): AskedPayment => ({
  transaction: idOf(n),
  peer: PEER,
  payee: 'bob',
  amount,
  authorization: bytes(20, n),
  holdSeconds: undefined,
})
const opening = (n: number, amount: number, more: Partial<OpenPeerPayment> = {}): OpenPeerPayment => ({
  ...asked(n, amount),
  askAtMs: NOW_MS + n,
  creditMax: 100,
  openMax: 3,
  ...more,
})
const posting = (id: Uint8Array, amount: number, more: Partial<Posting> = {}): Posting => ({
  id,
  reason: 'payment',
  atMs: NOW_MS,
  amount,
  moves: [{ from: { kind: 'peer', name: PEER }, to: { kind: 'agent', name: 'bob' }, amount }],
  receipt: bytes(30, amount),
  ...more,
})
const signed = (n: number) => ({ receipt: bytes(30, n), peerReceipt: bytes(31, n) })

const open = async ({ store }: World, given: OpenPeerPayment) => (await store.openPeerPayment(given)).outcome
const stateOf = async ({ store }: World, n: number) => (await store.peerPayment(idOf(n)))?.state
const hold = async ({ store }: World, n: number, amount: number) =>
  await store.answerPeerPayment({ asked: asked(n, amount), ...signed(n), askAtMs: LATER_MS })
const credit = async ({ store }: World) => await store.peerCredit(PEER)
const bobHas = async ({ store }: World) => (await store.holdings('bob', NOW_MS)).balance

export const peerPaymentRules: readonly Rule[] = [
  rule('opens a payment once, and finds it ever after', async world => {
    expect(await open(world, opening(1, 40))).toBe('opened')
    expect(await world.store.openPeerPayment(opening(1, 99))).toMatchObject({
      outcome: 'found',
      payment: { ...asked(1, 40), state: 'asked', receipt: undefined, askAtMs: NOW_MS + 1 },
    })
    expect(await world.store.peerPayment(idOf(2))).toBeUndefined()
  }),

  rule('opens no payment with which the peer would owe too much, nor one too many', async world => {
    expect(await open(world, opening(1, 60))).toBe('opened')
    expect(await open(world, opening(2, 41))).toBe('over')
    expect(await open(world, opening(2, 40))).toBe('opened')
    const small = { creditMax: 1000 }
    expect(await open(world, opening(3, 1, small))).toBe('opened')
    expect(await open(world, opening(4, 1, small))).toBe('over')
    // another peer owes by itself
    expect(await open(world, opening(5, 100, { peer: 'other' }))).toBe('opened')
  }),

  rule('counts what the peer owes, and sets what it is owed against it', async world => {
    await world.store.answerPeerPayment({
      asked: asked(1, 60),
      ...signed(1),
      posting: posting(idOf(1), 60),
    })
    expect([await credit(world), await bobHas(world)]).toEqual([{ owes: 60, open: 0 }, 60])
    expect(await open(world, opening(2, 41))).toBe('over')
    const back = {
      from: { kind: 'agent', name: 'bob' },
      to: { kind: 'peer', name: PEER },
      amount: 60,
    } as const
    await world.store.post(posting(idOf(9), 60, { moves: [back] }))
    expect(await credit(world)).toEqual({ owes: 0, open: 0 })
    expect(await open(world, opening(2, 100))).toBe('opened')
  }),

  rule('forgets a payment that the peer refused, and none that was answered', async world => {
    await open(world, opening(1, 10))
    await open(world, opening(2, 20))
    await hold(world, 2, 20)
    for (const n of [1, 2, 3]) await world.store.dropPeerPayment(idOf(n))
    expect([await stateOf(world, 1), await stateOf(world, 2)]).toEqual([undefined, 'held'])
    expect(await credit(world)).toEqual({ owes: 0, open: 20 })
  }),

  rule('posts a payment once with its answer, also one whose row has gone', async world => {
    const answer = { asked: asked(1, 10), ...signed(1), posting: posting(idOf(1), 10) }
    expect(await world.store.answerPeerPayment(answer)).toBe('posted')
    expect(await world.store.answerPeerPayment({ ...answer, ...signed(2) })).toBe('held')
    expect(await world.store.peerPayment(idOf(1))).toMatchObject({
      state: 'ended',
      receipt: bytes(30, 10),
      peerReceipt: bytes(31, 1),
      askAtMs: undefined,
    })
    expect(await bobHas(world)).toBe(10)
  }),

  rule('keeps nothing of an answer that cannot be posted', async world => {
    await open(world, opening(1, 10))
    const moves = [
      { from: { kind: 'agent', name: 'nobody' }, to: { kind: 'agent', name: 'bob' }, amount: 10 },
    ] as const
    const answer = { asked: asked(1, 10), ...signed(1), posting: posting(idOf(1), 10, { moves: [...moves] }) }
    expect(await world.store.answerPeerPayment(answer)).toBe('insufficient')
    expect(await stateOf(world, 1)).toBe('asked')
  }),

  rule('keeps the amount of a hold until it ends, which it does once', async world => {
    await open(world, opening(1, 30))
    expect(await hold(world, 1, 30)).toBe('posted')
    await world.store.orderPeerPayment({ transaction: idOf(1), order: bytes(9, 1), askAtMs: NOW_MS })
    expect(await world.store.peerPayment(idOf(1))).toMatchObject({
      state: 'held',
      receipt: bytes(30, 1),
      order: bytes(9, 1),
      askAtMs: NOW_MS,
    })
    expect(await credit(world)).toEqual({ owes: 0, open: 30 })
    const end = { transaction: idOf(1), ...signed(5), posting: posting(bytes(32, 1), 12) }
    expect(await world.store.endPeerPayment(end)).toBe('posted')
    expect(
      await world.store.endPeerPayment({ ...end, ...signed(6), posting: posting(bytes(32, 2), 9) }),
    ).toBe('held')
    expect(await world.store.peerPayment(idOf(1))).toMatchObject({
      state: 'ended',
      receipt: bytes(30, 1),
      endReceipt: bytes(30, 5),
      peerEndReceipt: bytes(31, 5),
      askAtMs: undefined,
    })
    expect([await credit(world), await bobHas(world)]).toEqual([{ owes: 12, open: 0 }, 12])
  }),

  rule(
    'takes no order about a payment that is not held, and asks nobody about one that has ended',
    async world => {
      await open(world, opening(1, 30))
      await world.store.orderPeerPayment({ transaction: idOf(1), order: bytes(9, 1), askAtMs: NOW_MS })
      expect((await world.store.peerPayment(idOf(1)))?.order).toBeUndefined()
      await hold(world, 1, 30)
      await world.store.endPeerPayment({ transaction: idOf(1), ...signed(2) })
      await world.store.orderPeerPayment({ transaction: idOf(1), order: bytes(9, 2), askAtMs: NOW_MS })
      await world.store.askPeerPaymentAt({ transaction: idOf(1), askAtMs: NOW_MS })
      expect(await world.store.peerPayment(idOf(1))).toMatchObject({ order: undefined, askAtMs: undefined })
    },
  ),

  rule('finds the payments about which a peer is to be asked, the longest first', async world => {
    await open(world, opening(2, 10))
    await open(world, opening(1, 10))
    await open(world, opening(3, 10))
    const due = async (ms: number, limit = 9) =>
      (await world.store.duePeerPayments(NOW_MS + ms, limit)).map(one => one.transaction[0])
    expect([await due(0), await due(2), await due(9, 2)]).toEqual([[], [1, 2], [1, 2]])
    await world.store.askPeerPaymentAt({ transaction: idOf(1), askAtMs: LATER_MS })
    await world.store.dropPeerPayment(idOf(2))
    expect(await due(9)).toEqual([3])
  }),
]
