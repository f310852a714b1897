/** The contract of the store on clearing with peers. */
import { expect } from 'vitest'
import type { ClearingState } from '../../store/clearing-port.ts'
import type { Posting } from '../../store/ledger-port.ts'
import type { ShownPayment } from '../../store/peer-payment-port.ts'
import { bytes, NOW_MS, type Rule, rule, type World } from './world.ts'

const PEER = 'hub-peer'
const peer = { kind: 'peer', name: PEER } as const
const bob = { kind: 'agent', name: 'bob' } as const
const issue = { kind: 'issue', name: '' } as const
const idOf = (n: number): Uint8Array => bytes(36, n)

const shown = (n: number, amount: number, more: Partial<ShownPayment> = {}): ShownPayment => ({
  asked: {
    transaction: idOf(n),
    peer: PEER,
    payee: 'bob',
    amount,
    authorization: new Uint8Array(),
    holdSeconds: undefined,
  },
  isEnd: false,
  receipt: bytes(30, n),
  peerReceipt: bytes(31, n),
  posting: posting(idOf(n), amount, { receipt: bytes(30, n) }),
  creditMax: 100,
  ...more,
})
const posting = (id: Uint8Array, amount: number, more: Partial<Posting> = {}): Posting => ({
  id,
  reason: 'payment',
  atMs: NOW_MS,
  amount,
  moves: [{ from: peer, to: bob, amount }],
  ...more,
})
const has = async ({ store }: World) => (await store.holdings('bob', NOW_MS)).balance
const state: ClearingState = {
  peer: PEER,
  agreedSeq: 4,
  agreedMs: NOW_MS,
  atMs: NOW_MS + 1,
  due: -5,
  owed: 6,
  rounds: 2,
  accepted: 11,
  stoppedMs: NOW_MS + 2,
  epoch: { day: 20_000, published: 3, claim: 5 },
}

export const clearingRules: readonly Rule[] = [
  rule('keeps what was said last with a peer, and begins with nothing', async ({ store }) => {
    expect(await store.clearing(PEER)).toMatchObject({ peer: PEER, agreedSeq: 0, rounds: 0, accepted: 0 })
    expect((await store.clearing(PEER)).stoppedMs).toBeUndefined()
    await store.putClearing({ ...state, rounds: 1 })
    await store.putClearing(state)
    expect(await store.clearing(PEER)).toEqual(state)
    await store.putClearing({ ...state, stoppedMs: undefined, epoch: undefined })
    expect(await store.clearing(PEER)).toEqual({ ...state, stoppedMs: undefined, epoch: undefined })
    expect((await store.clearing('another')).agreedSeq).toBe(0)
  }),

  rule('books what a peer shows once, within what that may owe', async world => {
    const { store } = world
    expect(await store.bookShown(shown(1, 60))).toBe('posted')
    expect(await store.bookShown(shown(1, 60))).toBe('held')
    expect(await store.bookShown(shown(2, 41))).toBe('over')
    expect(await store.bookShown(shown(2, 40))).toBe('posted')
    expect([await has(world), (await store.peerCredit(PEER)).owes]).toEqual([100, 100])
    expect(await store.peerPayment(idOf(1))).toMatchObject({
      state: 'ended',
      receipt: bytes(30, 1),
      peerReceipt: bytes(31, 1),
    })
    expect(await store.peerPayment(idOf(3))).toBeUndefined()
  }),

  rule('tells what this hub owes a peer, its last transfer, and what waits', async ({ store }) => {
    expect(await store.peerFigures(PEER)).toEqual({ due: 0, seq: 0, waiting: 0 })
    await store.bookShown(shown(1, 60))
    const { asked } = shown(2, 7)
    await store.openPeerPayment({ ...asked, askAtMs: NOW_MS, creditMax: 100, openMax: 9 })
    const { due, seq, waiting } = await store.peerFigures(PEER)
    expect([due, seq > 0, waiting]).toEqual([-60, true, 7])
    await store.answerPeerPayment({ asked, receipt: bytes(30, 2), peerReceipt: bytes(31, 2) })
    expect((await store.peerFigures(PEER)).waiting).toBe(0)
    await store.orderPeerPayment({ transaction: idOf(2), order: bytes(9, 9), askAtMs: NOW_MS })
    expect((await store.peerFigures(PEER)).waiting).toBe(7)
  }),

  rule('finds what was signed of each transfer with a peer, forwards and back', async ({ store }) => {
    await store.bookShown(shown(1, 20))
    await store.bookShown(
      shown(2, 10, { isEnd: true, posting: posting(bytes(32, 2), 10, { about: idOf(2) }) }),
    )
    await store.post(
      posting(bytes(36, 9), 5, { moves: [{ from: bob, to: peer, amount: 5 }], receipt: bytes(30, 9) }),
    )
    await store.post(posting(bytes(32, 8), 5, { moves: [{ from: issue, to: bob, amount: 5 }] }))
    await store.post(
      posting(bytes(32, 7), 6, {
        reason: 'cleared',
        moves: [{ from: issue, to: peer, amount: 6 }],
        receipt: bytes(40, 7),
        reference: 'transfer',
      }),
    )
    const all = [
      { kind: 'receipt', bytes: bytes(31, 1) },
      { kind: 'receipt', bytes: bytes(31, 2) },
      { kind: 'receipt', bytes: bytes(30, 9) },
      { kind: 'statement', bytes: bytes(40, 7) },
    ]
    const first = await store.peerTransfers({ peer: PEER, after: 0, limit: 3 })
    expect(first.transfers).toMatchObject(all.slice(0, 3))
    expect(first.transfers.map(({ atMs }) => atMs)).toEqual([NOW_MS, NOW_MS, NOW_MS])
    const rest = await store.peerTransfers({ peer: PEER, after: first.next ?? 0, limit: 3 })
    expect([rest.transfers.length, rest.next]).toEqual([1, undefined])
    const before = rest.transfers[0]?.seq ?? 0
    const back = await store.peerTransfers({ peer: PEER, before, limit: 2 })
    expect(back.transfers).toMatchObject([all[2], all[1]])
    expect(await store.clearedUnder('transfer')).toEqual([bytes(40, 7)])
    expect(await store.clearedUnder('another')).toEqual([])
    expect(await store.clearedAfter(before - 1)).toEqual([bytes(40, 7)])
    expect(await store.clearedAfter(before)).toEqual([])
    expect(await store.peerTransfers({ peer: 'another', after: 0, limit: 3 })).toEqual({
      transfers: [],
      next: undefined,
    })
  }),

  rule('tells the least that a peer owed since a time', async ({ store }) => {
    const at = (n: number, amount: number, atMs: number) =>
      store.bookShown(shown(n, amount, { posting: posting(idOf(n), amount, { atMs }) }))
    await at(1, 30, NOW_MS)
    const back = { moves: [{ from: bob, to: peer, amount: 20 }], atMs: NOW_MS + 10 }
    await store.post(posting(bytes(36, 9), 20, back))
    await at(2, 50, NOW_MS + 20)
    expect(await store.leastClaim(PEER, NOW_MS + 30)).toBe(60)
    expect(await store.leastClaim(PEER, NOW_MS + 15)).toBe(10)
    expect(await store.leastClaim(PEER, NOW_MS + 5)).toBe(10)
    expect(await store.leastClaim(PEER, NOW_MS)).toBe(0)
    expect(await store.leastClaim('another', NOW_MS)).toBe(0)
  }),

  rule('posts transfers that go together, or none of them', async world => {
    const { store } = world
    const given = [
      posting(bytes(32, 1), 4, { reason: 'restored', moves: [{ from: issue, to: bob, amount: 4 }] }),
      posting(idOf(1), 4, { moves: [{ from: bob, to: peer, amount: 4 }] }),
    ] as const
    await expect(
      store.postTogether([given[0], posting(idOf(1), 5, { moves: [{ from: bob, to: peer, amount: 5 }] })]),
    ).rejects.toThrow()
    expect(await has(world)).toBe(0)
    expect(await store.postTogether(given)).toBe('posted')
    expect([await has(world), (await store.peerFigures(PEER)).due]).toEqual([0, 4])
    expect(await store.postTogether(given)).toBe('held')
    expect(await store.booksAgree()).toBe(true)
  }),
]
