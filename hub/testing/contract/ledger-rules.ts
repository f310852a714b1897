/** The contract of the store on credits: one transfer at a time, whole, once for ever; and the supply chain beside it. */
import { expect } from 'vitest'
import { type AccountName, NAMES_LEVEL, type NewSupplyRecord, type Posting } from '../../store/ledger-port.ts'
import type { JudgedBy } from '../../store/port.ts'
import { agentRow, bytes, DAY_MS, NOW_MS, type Rule, rule, type World } from './world.ts'

const ISSUE: AccountName = { kind: 'issue', name: '' }
const RETIRED: AccountName = { kind: 'retired', name: '' }
const agent = (name: string): AccountName => ({ kind: 'agent', name })
const idOf = (n: number): Uint8Array => bytes(36, n)
const heldBy = (n: number): AccountName => ({ kind: 'held', name: Buffer.from(idOf(n)).toString('hex') })

const record = (seq: number, previous = seq - 1): NewSupplyRecord => ({
  seq,
  id: bytes(32, seq + 1),
  previous: bytes(32, previous + 1),
  record: bytes(20, seq + 1),
})

const grant = (n: number, to: string, amount: number, more: Partial<Posting> = {}): Posting => ({
  id: bytes(32, n),
  reason: 'grant',
  atMs: NOW_MS,
  amount,
  moves: [{ from: ISSUE, to: agent(to), amount }],
  ...more,
})

const payment = (n: number, amount: number, more: Partial<Posting> = {}): Posting => ({
  id: idOf(n),
  reason: 'payment',
  atMs: NOW_MS + n,
  amount,
  moves: [{ from: agent('payer'), to: agent('payee'), amount }],
  ...more,
})

const parties = { payer: agent('payer'), payee: agent('payee') }
const hold = (n: number, amount: number, holdUntilMs = NOW_MS + DAY_MS): Posting =>
  payment(n, amount, {
    reason: 'hold',
    moves: [{ from: agent('payer'), to: heldBy(n), amount }],
    parties,
    holdUntilMs,
  })
const ending = (n: number, about: number, reason: 'capture' | 'return', amount: number): Posting =>
  payment(n, amount, {
    reason,
    moves: [{ from: heldBy(about), to: reason === 'capture' ? parties.payee : parties.payer, amount }],
    about: idOf(about),
    parties,
  })

const post = async (world: World, posting: Posting) => (await world.store.post(posting)).outcome
const balanceOf = async (world: World, aid: string) => (await world.store.holdings(aid, NOW_MS)).balance

export const ledgerRules: readonly Rule[] = [
  rule('posts a transfer once for ever, and answers every later one with the first', async world => {
    await post(world, grant(1, 'payer', 100))
    const receipt = bytes(5, 1)
    const given = payment(2, 30, { receipt, authorization: bytes(6, 1), reference: 'for it' })
    const [first, second] = await Promise.all([world.store.post(given), world.store.post(given)])
    expect([first.outcome, second.outcome]).toEqual(['posted', 'held'])
    expect(second).toMatchObject({ transfer: { seq: (first as { seq: number }).seq, amount: 30, receipt } })
    await world.reopen()
    const transfer = await world.store.transfer(idOf(2))
    expect(transfer).toMatchObject({
      reason: 'payment',
      amount: 30,
      receipt,
      reference: 'for it',
      atMs: NOW_MS + 2,
    })
    expect(await world.store.post(payment(2, 70))).toEqual({ outcome: 'held', transfer })
    expect([await balanceOf(world, 'payer'), await balanceOf(world, 'payee')]).toEqual([70, 30])
    expect([await world.store.transfer(idOf(9)), await balanceOf(world, 'nobody')]).toEqual([undefined, 0])
  }),

  rule('moves all of a transfer or nothing, and no balance falls below zero', async world => {
    await post(world, grant(1, 'payer', 10))
    const both = [
      { from: agent('payer'), to: agent('payee'), amount: 8 },
      { from: agent('payer'), to: agent('fee'), amount: 3 },
    ]
    const results = await Promise.all([
      post(world, payment(2, 11, { moves: both })),
      post(world, payment(3, 10)),
      post(world, payment(4, 1)),
    ])
    expect(results).toEqual(['insufficient', 'posted', 'insufficient'])
    expect([
      await balanceOf(world, 'payer'),
      await balanceOf(world, 'payee'),
      await balanceOf(world, 'fee'),
    ]).toEqual([0, 10, 0])
    expect(await world.store.transfer(idOf(2))).toBeUndefined()
  }),

  rule('of transfers that arrive together, one that breaks fails alone', async world => {
    await post(world, grant(1, 'payer', 10))
    const toItself = payment(3, 1, { moves: [{ from: agent('payer'), to: agent('payer'), amount: 1 }] })
    const results = await Promise.allSettled(
      [payment(2, 4), toItself, payment(4, 6)].map(one => post(world, one)),
    )
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect([await balanceOf(world, 'payer'), await balanceOf(world, 'payee')]).toEqual([0, 10])
    expect(await world.store.transfer(idOf(3))).toBeUndefined()
    expect(await world.store.booksAgree()).toBe(true)
  }),

  rule('keeps accounts of one name apart, whatever they are', async world => {
    const peer: AccountName = { kind: 'peer', name: 'payer' }
    await post(world, grant(1, 'payer', 10))
    await post(world, payment(2, 4, { moves: [{ from: agent('payer'), to: peer, amount: 4 }] }))
    expect([await balanceOf(world, 'payer'), (await world.store.peerFigures('payer')).due]).toEqual([6, 4])
    const [entry] = await world.store.ledgerEntries({ aid: 'payer', before: undefined, sinceMs: 0, limit: 1 })
    expect(entry).toMatchObject({ delta: -4, counterparty: 'payer' })
  }),

  rule('refuses a sum that no number holds', async world => {
    const most = Number.MAX_SAFE_INTEGER
    expect([await post(world, grant(1, 'payer', most)), await post(world, grant(2, 'payee', 1))]).toEqual([
      'posted',
      'overflow',
    ])
  }),

  rule('keeps a hold until it is captured or given back, once', async world => {
    await post(world, grant(1, 'payer', 100))
    await post(world, hold(2, 40))
    const open = {
      transaction: idOf(2),
      payer: 'payer',
      payee: 'payee',
      amount: 40,
      untilMs: NOW_MS + DAY_MS,
    }
    expect(await world.store.openHold(idOf(2))).toEqual(open)
    const held = async (nowMs: number) => await world.store.holdings('payer', nowMs)
    expect([await held(NOW_MS), await held(NOW_MS + DAY_MS)]).toEqual([
      { balance: 60, held: 40, lapsed: 0 },
      { balance: 60, held: 40, lapsed: 40 },
    ])
    const ends = [ending(3, 2, 'capture', 40), ending(4, 2, 'return', 40)].map(one => post(world, one))
    expect(await Promise.all(ends)).toEqual(['posted', 'noHold'])
    expect([await world.store.openHold(idOf(2)), await balanceOf(world, 'payee')]).toEqual([undefined, 40])
  }),

  rule('takes a hold and its end that arrive together, and tells each side of the other', async world => {
    await post(world, grant(1, 'payer', 100))
    const moves = [
      { from: heldBy(2), to: parties.payee, amount: 30 },
      { from: heldBy(2), to: parties.payer, amount: 10 },
    ]
    const given = [hold(2, 40), { ...ending(3, 2, 'capture', 30), id: bytes(32, 3), moves }]
    expect(await Promise.all(given.map(one => post(world, one)))).toEqual(['posted', 'posted'])
    expect(await world.store.openHold(idOf(2))).toBeUndefined()
    expect(await world.store.creditTotals()).toMatchObject({ agents: 100, holds: 0 })
    const entries = async (aid: string) =>
      (await world.store.ledgerEntries({ aid, before: undefined, sinceMs: 0, limit: 9 })).map(
        ({ delta, reason, counterparty, transaction }) => [delta, reason, counterparty, transaction?.[0]],
      )
    expect(await entries('payer')).toEqual([
      [10, 'capture', 'payee', 2],
      [-40, 'hold', 'payee', 2],
      [100, 'grant', undefined, undefined],
    ])
    expect(await entries('payee')).toEqual([[30, 'capture', 'payer', 2]])
  }),

  rule('finds holds that have lapsed, of one payer or of all, the earliest first', async world => {
    await post(world, grant(1, 'payer', 100))
    for (const [n, until] of [
      [2, 30],
      [3, 10],
      [4, 20],
    ] as const)
      await post(world, hold(n, 5, NOW_MS + until))
    const lapsed = async (ms: number, limit: number, payer?: string) =>
      (await world.store.lapsedHolds(NOW_MS + ms, limit, payer)).map(({ transaction }) => transaction[0])
    expect([await lapsed(20, 10), await lapsed(30, 2), await lapsed(9, 10)]).toEqual([[3, 4], [3, 4], []])
    expect([(await lapsed(30, 10, 'payer')).length, await lapsed(30, 10, 'payee')]).toEqual([3, []])
  }),

  rule('gives back no more than was paid, and no more trial credits than the day has', async world => {
    await post(world, grant(1, 'payer', 100))
    await post(world, grant(8, 'payee', 100))
    await post(world, payment(2, 50))
    const refund = (n: number, amount: number) =>
      payment(n, amount, {
        reason: 'refund',
        moves: [{ from: agent('payee'), to: agent('payer'), amount }],
        about: idOf(2),
        refundsMax: 50,
      })
    expect([
      await post(world, refund(3, 30)),
      await post(world, refund(4, 21)),
      await post(world, refund(5, 20)),
    ]).toEqual(['posted', 'refundedOver', 'posted'])
    const trial = (n: number, aid: string, atMs = NOW_MS) =>
      grant(n, aid, 10, { reason: 'trial', atMs, trials: { sinceMs: atMs, max: 10 } })
    await world.put(agentRow('agent-two'))
    const due = async () => await world.store.withoutTrial({ afterAid: '', nowMs: NOW_MS, limit: 10 })
    expect(await due()).toEqual(['agent-one', 'agent-two'])
    expect(await post(world, trial(6, 'agent-one'))).toBe('posted')
    expect([await post(world, trial(7, 'agent-two')), await due()]).toEqual(['trialsOver', ['agent-two']])
    expect([await post(world, trial(7, 'agent-two', NOW_MS + DAY_MS)), await due()]).toEqual(['posted', []])
  }),

  rule('shows the entries of an agent newest first, a page at a time', async world => {
    await post(world, grant(1, 'payer', 100))
    for (const n of [2, 3, 4]) await post(world, payment(n, n))
    const ask = async (more: { before?: number; sinceMs?: number; limit?: number; reason?: 'grant' }) =>
      await world.store.ledgerEntries({ aid: 'payer', before: undefined, sinceMs: 0, limit: 10, ...more })
    const all = await ask({})
    expect(all.map(({ delta, reason }) => [delta, reason])).toEqual([
      [-4, 'payment'],
      [-3, 'payment'],
      [-2, 'payment'],
      [100, 'grant'],
    ])
    expect(all[0]).toMatchObject({ atMs: NOW_MS + 4, transaction: idOf(4), counterparty: 'payee' })
    expect(await ask({ before: all[1]?.seq as number, limit: 1 })).toEqual([all[2]])
    expect([await ask({ sinceMs: NOW_MS + 4 }), await ask({ reason: 'grant' })]).toEqual([[all[0]], [all[3]]])
    expect(await world.store.oldestEntry('payer', NOW_MS + 1)).toBe(all[2]?.seq)
    expect([await world.store.oldestEntry('nobody', 0), await world.store.ledgerHw()]).toEqual([
      undefined,
      all[0]?.seq,
    ])
  }),

  rule('sums up to its totals at every moment, with what was taken out', async world => {
    await post(world, grant(1, 'payer', 100))
    await post(world, payment(2, 30))
    await post(world, hold(3, 20))
    const out = payment(4, 5, {
      reason: 'redemption',
      moves: [{ from: agent('payee'), to: RETIRED, amount: 5 }],
      reference: 'taken out',
    })
    await post(world, out)
    const totals = { agents: 75, holds: 20, issued: 100, retired: 5, owedByPeers: 0, dueToPeers: 0 }
    expect(await world.store.creditTotals()).toEqual(totals)
    const owed = [
      { aid: 'payee', amount: 25 },
      { aid: 'payer', amount: 70 },
    ]
    const ledgerHw = await world.store.ledgerHw()
    expect(await world.store.snapshot()).toEqual({ totals, recount: totals, ledgerHw, head: undefined, owed })
    expect(await world.store.booksAgree()).toBe(true)
    const asked = { sinceMs: 0, before: undefined, limit: 10 }
    const [row] = await world.store.redemptions(asked)
    expect(row).toMatchObject({ aid: 'payee', amount: 5, reference: 'taken out', transaction: idOf(4) })
    expect(await world.store.redemptions({ ...asked, before: row?.seq })).toEqual([])
  }),

  rule('lets the supply chain go on from its head alone, with the transfer or not at all', async world => {
    expect(await post(world, grant(1, 'payer', 5, { supply: record(0) }))).toBe('posted')
    const both = [grant(2, 'payer', 5, { supply: record(1) }), grant(3, 'payer', 5, { supply: record(1) })]
    expect(await Promise.all(both.map(one => post(world, one)))).toEqual(['posted', 'headMoved'])
    expect(await post(world, grant(4, 'payer', 5, { supply: record(2, 0) }))).toBe('headMoved')
    expect(await balanceOf(world, 'payer')).toBe(10)
    await world.reopen()
    expect(await world.store.supplyHead()).toEqual({ seq: 1, id: bytes(32, 2) })
    const records = await world.store.supplyRecords(0, 10)
    expect(records.map(({ seq, id, record: kept }) => [seq, id[0], kept[0]])).toEqual([
      [0, 1, 1],
      [1, 2, 2],
    ])
    expect((await world.store.supplyRecords(1, 1)).map(({ seq }) => seq)).toEqual([1])
  }),

  rule('keeps an epoch with its proofs, and forgets those of earlier days', async world => {
    const piece = (day: number, fill: number) => ({
      day,
      level: NAMES_LEVEL,
      piece: 0,
      bytes: bytes(4, fill),
    })
    for (const [day, fill] of [
      [10, 1],
      [11, 2],
      [11, 3],
    ] as const)
      await world.store.addProofPiece(piece(day, fill))
    const epoch = (day: number) => ({ day, accounts: day })
    const append = (seq: number, day: number, since: number) =>
      world.store.appendEpoch(record(seq), epoch(day), since)
    expect([await append(0, 10, 0), await append(0, 11, 0), await append(1, 11, 11)]).toEqual([
      true,
      false,
      true,
    ])
    const kept = { day: 11, seq: 1, accounts: 11 }
    expect([await world.store.keptEpoch(undefined), await world.store.keptEpoch(11)]).toEqual([kept, kept])
    expect(await world.store.keptEpoch(10)).toBeUndefined()
    const read = (day: number) => world.store.proofPiece({ day, level: NAMES_LEVEL, piece: 0 })
    expect([await read(11), await read(10)]).toEqual([bytes(4, 3), undefined])
  }),

  rule('takes back records with their transfers, all of them or none', async world => {
    const given = (records: NewSupplyRecord[], postings: Posting[]) =>
      world.store.returnSupply({ records, epochs: [], keptSinceDay: 0, postings })
    const torn = [grant(1, 'payer', 5, { reason: 'restored' }), payment(2, 50)]
    await expect(given([record(0)], torn)).rejects.toThrow()
    await expect(given([record(1)], [])).rejects.toThrow()
    expect([await world.store.supplyHead(), await balanceOf(world, 'payer')]).toEqual([undefined, 0])
    const epochs = [{ day: 3, seq: 0, accounts: 0 }]
    await world.store.returnSupply({
      ...{ records: [record(0), record(1)], epochs, keptSinceDay: 3 },
      postings: torn.slice(0, 1),
    })
    expect([(await world.store.supplyHead())?.seq, await balanceOf(world, 'payer')]).toEqual([1, 5])
    expect(await world.store.keptEpoch(undefined)).toEqual(epochs[0])
  }),

  rule('posts nothing that was judged by a row of before, unless it was posted then', async world => {
    await post(world, grant(1, 'payer', 100))
    const { version = 0 } = (await world.store.findAgent('agent-one')) ?? {}
    const judged = (n: number, ...judgedBy: JudgedBy[]) => payment(n, 10, { judgedBy })
    const now = { aid: 'agent-one', version }
    const given = [
      judged(2, now),
      judged(3, { ...now, version: version + 1 }),
      judged(4, { aid: 'nobody', version: 1 }),
    ]
    expect(await Promise.all(given.map(one => post(world, one)))).toEqual(['posted', 'moved', 'moved'])
    await world.newMailbox('agent-two')
    await world.put(agentRow('agent-one', { version, number: world.box }))
    const two = { aid: 'agent-two', version: 1 }
    expect(await post(world, judged(5, two, now))).toBe('moved')
    expect(await post(world, judged(5, two, { ...now, version: version + 1 }))).toBe('posted')
    expect([await post(world, judged(2, now)), await balanceOf(world, 'payer')]).toEqual(['held', 80])
  }),

  rule('knows the hub of the payee of a hold, where it is another one', async world => {
    await post(world, grant(1, 'payer', 100))
    await post(world, { ...hold(2, 30), holdPeer: { kind: 'peer', name: 'hub-peer' } })
    await post(world, hold(3, 20))
    const peers = [await world.store.openHold(idOf(2)), await world.store.openHold(idOf(3))].map(
      one => one?.peer,
    )
    expect(peers).toEqual(['hub-peer', undefined])
    const lapsed = await world.store.lapsedHolds(NOW_MS + 2 * DAY_MS, 9)
    expect(lapsed.map(one => one.peer).sort()).toEqual(['hub-peer', undefined])
    expect(await world.store.booksAgree()).toBe(true)
  }),
]
