// project: programs
/** Two stores over one database, as two processes have them: no credit is made or lost, whichever of them moves it. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { agentRow, bytes, NOW_MS } from '../../testing/contract/world.ts'
import { emptyAll, openForTest } from '../../testing/postgres-contract.ts'
import { PostgresServer, withoutPostgres } from '../../testing/postgres-server.ts'
import { totalsAgree } from '../books.ts'
import type { AccountName, LedgerSnapshot, NewSupplyRecord, Posting, PostResult } from '../ledger-port.ts'
import type { OpenPeerPayment } from '../peer-payment-port.ts'
import type { Store } from '../port.ts'
import { type Connections, connectTo, type Queries } from './connections.ts'

const ISSUE: AccountName = { kind: 'issue', name: '' }
const agent = (name: string): AccountName => ({ kind: 'agent', name })
const peer: AccountName = { kind: 'peer', name: 'hub-peer' }

/** An id of a transaction, or of a grant. */
function idOf(n: number, length = 36): Uint8Array {
  const id = bytes(length, 7)
  new DataView(id.buffer).setUint32(0, n)
  return id
}

const payment = (
  n: number,
  [from, to]: readonly [string, string],
  amount: number,
  more: Partial<Posting> = {},
): Posting => ({
  id: idOf(n),
  reason: 'payment',
  atMs: NOW_MS,
  amount,
  moves: [{ from: agent(from), to: agent(to), amount }],
  ...more,
})
const grant = (n: number, to: string, amount: number, more: Partial<Posting> = {}): Posting => ({
  ...payment(n, ['', to], amount),
  id: idOf(n, 32),
  reason: 'grant',
  moves: [{ from: ISSUE, to: agent(to), amount }],
  ...more,
})
const heldBy = (n: number): AccountName => ({ kind: 'held', name: Buffer.from(idOf(n)).toString('hex') })
const parties = { payer: agent('alice'), payee: agent('bob') }
const hold = (n: number, amount: number): Posting =>
  payment(n, ['alice', 'bob'], amount, {
    reason: 'hold',
    moves: [{ from: agent('alice'), to: heldBy(n), amount }],
    parties,
    holdUntilMs: NOW_MS + 1000,
  })
const ending = (n: number, about: number, reason: 'capture' | 'return', amount: number): Posting =>
  payment(n, ['alice', 'bob'], amount, {
    reason,
    moves: [{ from: heldBy(about), to: reason === 'capture' ? parties.payee : parties.payer, amount }],
    parties,
    about: idOf(about),
  })
const record = (seq: number): NewSupplyRecord => ({
  seq,
  id: bytes(32, seq + 1),
  previous: bytes(32, seq),
  record: bytes(20, seq),
})

const waitingFor = async (db: Queries, what: string): Promise<number> =>
  (
    await db.one<{ n: number }>(
      'SELECT count(*) AS n FROM pg_locks WHERE NOT granted AND locktype = $1',
      what,
    )
  )?.n ?? 0

const range = (count: number): number[] => Array.from({ length: count }, (_, at) => at)

/** How often each outcome came. */
function counted(results: readonly { outcome: string }[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { outcome } of results) counts[outcome] = (counts[outcome] ?? 0) + 1
  return counts
}

describe.skipIf(withoutPostgres !== undefined)(withoutPostgres ?? 'one ledger of two processes', () => {
  let server: PostgresServer
  let [one, other]: Store[] = []
  let connections: Connections
  beforeAll(async () => {
    server = await PostgresServer.start()
  })
  afterAll(() => server.stop())
  beforeEach(async () => {
    connections = connectTo(server.url)
    ;[one, other] = [await openForTest(connectTo(server.url)), await openForTest(connectTo(server.url))]
  })
  afterEach(async () => {
    await Promise.all([one?.close(), other?.close()])
    await emptyAll(connections)
    await connections.close()
  })
  const stores = (): [Store, Store] => [one as Store, other as Store]
  /** Posts all of them at once, by turns at both. */
  const postAll = (postings: readonly Posting[]): Promise<PostResult[]> =>
    Promise.all(postings.map((posting, at) => (stores()[at % 2] as Store).post(posting)))
  const balanceOf = async (aid: string) => (await stores()[0].holdings(aid, NOW_MS)).balance

  test('one balance is spent to its end and no further, by both at once', async () => {
    await postAll([grant(1, 'alice', 100)])
    const results = await postAll(range(300).map(n => payment(n + 2, ['alice', n % 3 ? 'bob' : 'carol'], 1)))
    expect(counted(results)).toEqual({ posted: 100, insufficient: 200 })
    expect([await balanceOf('alice'), (await balanceOf('bob')) + (await balanceOf('carol'))]).toEqual([
      0, 100,
    ])
    expect(await stores()[1].booksAgree()).toBe(true)
  })

  test('the same transfer at both is posted once, and both tell of the same', async () => {
    await postAll([grant(1, 'alice', 1000)])
    const twice = range(100)
      .flatMap(n => [n, n])
      .map(n => payment(n + 2, ['alice', 'bob'], 10))
    const results = await postAll(twice)
    expect(counted(results)).toEqual({ posted: 100, held: 100 })
    const seqOf = (result: PostResult) =>
      result.outcome === 'posted' ? result.seq : result.outcome === 'held' ? result.transfer.seq : 0
    for (const n of range(100))
      expect(seqOf(results[2 * n] as PostResult)).toBe(seqOf(results[2 * n + 1] as PostResult))
    expect([await balanceOf('alice'), await balanceOf('bob')]).toEqual([0, 1000])
  })

  test('an id is posted once, also where both give it to other accounts', async () => {
    await postAll([grant(1, 'alice', 10), grant(2, 'carol', 10)])
    const results = await postAll([payment(3, ['alice', 'bob'], 10), payment(3, ['carol', 'dave'], 10)])
    expect(counted(results)).toEqual({ posted: 1, held: 1 })
    expect((await balanceOf('bob')) + (await balanceOf('dave'))).toBe(10)
  })

  test('payments in a circle and against each other wait for nobody for good', async () => {
    const names = range(12).map(n => `agent-${n}`)
    await postAll(names.map((name, n) => grant(n + 1, name, 50)))
    const pairs = range(1200).map(n => {
      const [from, to] = [n % 12, (n * 7 + (n % 5) + 1) % 12]
      return [names[from], names[from === to ? (to + 1) % 12 : to]] as [string, string]
    })
    const results = await postAll(pairs.map((pair, n) => payment(n + 100, pair, 1 + (n % 9))))
    expect(results.every(({ outcome }) => outcome === 'posted' || outcome === 'insufficient')).toBe(true)
    const balances = await Promise.all(names.map(balanceOf))
    expect(balances.reduce((sum, balance) => sum + balance, 0)).toBe(600)
    expect(Math.min(...balances)).toBeGreaterThanOrEqual(0)
    expect(await stores()[0].booksAgree()).toBe(true)
  })

  test('thousands between pairs of their own are all posted: no group locks more than a server has room for', async () => {
    const more = await Promise.all(range(4).map(() => openForTest(connectTo(server.url))))
    const all = [...stores(), ...more]
    const post = (postings: readonly Posting[]) =>
      Promise.all(postings.map((posting, at) => (all[at % all.length] as Store).post(posting)))
    await post(range(6000).map(n => grant(n, `payer-${n}`, 1)))
    let posting: Promise<PostResult[]> | undefined
    await connections.transaction(async db => {
      // all groups that may be under way hold their names, and wait here
      await db.run('LOCK TABLE ledger_order IN ACCESS EXCLUSIVE MODE')
      posting = post(range(6000).map(n => payment(n, [`payer-${n}`, `payee-${n}`], 1)))
      posting.catch(() => undefined)
      await new Promise(resolve => setTimeout(resolve, 500))
    })
    const results = (await posting) ?? []
    await Promise.all(more.map(store => store.close()))
    expect(counted(results)).toEqual({ posted: 6000 })
    expect(await stores()[0].creditTotals()).toMatchObject({ agents: 6000, issued: 6000 })
  })

  test('a payment goes on while another process is about to pay between others', async () => {
    await postAll([grant(1, 'alice', 10), grant(2, 'carol', 10)])
    await connections.transaction(async db => {
      for (const name of ['alice', 'bob'])
        await db.run('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', `account agent ${name}`)
      const [a, b] = stores()
      const waits = a.post(payment(3, ['alice', 'bob'], 1)).then(() => 'first')
      await b.post(payment(4, ['carol', 'dave'], 1))
      const isDone = await Promise.race([waits, new Promise(resolve => setTimeout(resolve, 100, 'waits'))])
      expect(isDone).toBe('waits')
    })
    await expect.poll(() => balanceOf('bob')).toBe(1)
  })

  test('a hold ends once, whichever process is asked, and gives back no more than it held', async () => {
    await postAll([grant(1, 'alice', 100)])
    await postAll(range(20).map(n => hold(n + 10, 5)))
    const results = await postAll(
      range(20).flatMap(n => [ending(n + 40, n + 10, 'capture', 5), ending(n + 70, n + 10, 'return', 5)]),
    )
    expect(counted(results)).toEqual({ posted: 20, noHold: 20 })
    expect((await balanceOf('alice')) + (await balanceOf('bob'))).toBe(100)
    expect(await stores()[1].creditTotals()).toMatchObject({ agents: 100, holds: 0 })
  })

  test('both give back no more than was paid, and no more trial credits than the day has', async () => {
    await postAll([grant(1, 'alice', 100), grant(2, 'bob', 100)])
    await postAll([payment(3, ['alice', 'bob'], 50)])
    const refunds = range(40).map(n =>
      payment(n + 10, ['bob', 'alice'], 3, { reason: 'refund', about: idOf(3), refundsMax: 50 }),
    )
    expect(counted(await postAll(refunds))).toEqual({ posted: 16, refundedOver: 24 })
    const trials = range(40).map(n =>
      grant(n + 100, `new-${n}`, 10, { reason: 'trial', trials: { sinceMs: NOW_MS, max: 120 } }),
    )
    expect(counted(await postAll(trials))).toEqual({ posted: 12, trialsOver: 28 })
  })

  test('the supply chain goes on once from each head', async () => {
    for (const seq of range(6)) {
      const both = range(4).map(n => grant(seq * 10 + n, 'alice', 1, { supply: record(seq) }))
      expect(counted(await postAll(both))).toEqual({ posted: 1, headMoved: 3 })
    }
    const [a, b] = stores()
    const epochs = await Promise.all(
      [a, b].map(store => store.appendEpoch(record(6), { day: 1, accounts: 1 }, 0)),
    )
    expect(epochs.sort()).toEqual([false, true])
    expect([(await a.supplyRecords(0, 99)).length, await balanceOf('alice')]).toEqual([7, 6])
  })

  test('nothing is posted by a row of the registry that the other process changed', async () => {
    const [a, b] = stores()
    await a.putAgent({ row: agentRow('alice'), entry: undefined, terms: [] })
    await postAll([grant(1, 'alice', 1000)])
    const by = [{ aid: 'alice', version: 1 }]
    const paying = Promise.all(
      range(200).map(n => a.post(payment(n + 2, ['alice', 'bob'], 1, { judgedBy: by }))),
    )
    const row = await b.findAgent('alice')
    const changed = await b.putAgent({ row: { ...agentRow('alice'), ...row }, entry: undefined, terms: [] })
    expect(changed.outcome).toBe('stored')
    const late = await a.post(payment(900, ['alice', 'bob'], 1, { judgedBy: by }))
    const { posted = 0, moved = 0 } = counted(await paying)
    expect([posted + moved, late.outcome, await balanceOf('bob')]).toEqual([200, 'moved', posted])
  })

  test('a peer never owes more than it may, whoever opens payments with it', async () => {
    const opening = (n: number): OpenPeerPayment => ({
      ...{ transaction: idOf(n), peer: peer.name, payee: 'bob', amount: 7, authorization: bytes(9, 1) },
      ...{ holdSeconds: undefined, askAtMs: NOW_MS, creditMax: 100, openMax: 99 },
    })
    const opened = await Promise.all(
      range(40).map(n => (stores()[n % 2] as Store).openPeerPayment(opening(n))),
    )
    expect(counted(opened)).toEqual({ opened: 14, over: 26 })
    const answered = range(40).filter(n => opened[n]?.outcome === 'opened')
    const answer = (store: Store, n: number) =>
      store.answerPeerPayment({
        asked: opening(n),
        receipt: bytes(30, n),
        peerReceipt: bytes(31, n),
        posting: payment(n, ['', 'bob'], 7, { moves: [{ from: peer, to: agent('bob'), amount: 7 }] }),
      })
    const outcomes = await Promise.all(answered.flatMap(n => stores().map(store => answer(store, n))))
    expect(counted(outcomes.map(outcome => ({ outcome })))).toEqual({ posted: 14, held: 14 })
    expect(await stores()[0].peerCredit(peer.name)).toEqual({ owes: 98, open: 0 })
    expect([await balanceOf('bob'), totalsAgree(await stores()[1].creditTotals())]).toEqual([98, true])
  })

  test('a snapshot waits for a transfer that has its number and is not committed yet', async () => {
    await postAll([grant(1, 'alice', 10), grant(2, 'carol', 10)])
    const [a, b] = stores()
    const taking = await connections.transaction(async db => {
      await db.run("SELECT 1 FROM ledger_account WHERE name = 'alice' FOR UPDATE")
      const early = a.post(payment(3, ['alice', 'bob'], 1))
      await expect.poll(() => waitingFor(db, 'transactionid')).toBe(1)
      await b.post(payment(4, ['carol', 'dave'], 1))
      const snapshot = b.snapshot()
      await expect.poll(() => waitingFor(db, 'relation')).toBe(1)
      return { early, snapshot }
    })
    const [posted, { ledgerHw, owed }] = [await taking.early, await taking.snapshot]
    expect(posted).toMatchObject({ outcome: 'posted', seq: ledgerHw - 1 })
    expect(owed.map(({ aid, amount }) => [aid, amount])).toEqual([
      ['alice', 9],
      ['bob', 1],
      ['carol', 9],
      ['dave', 1],
    ])
  })

  test('a snapshot has every transfer before its last one, and all sums of it agree, while both post', async () => {
    const names = range(8).map(n => `agent-${n}`)
    await postAll(names.map((name, n) => grant(n + 1, name, 1000)))
    const [a] = stores()
    let isOver = false
    const posting = (async () => {
      for (const round of range(25)) {
        const pair = (n: number) => [names[n % 8], names[(n + 1 + (round % 7)) % 8]] as [string, string]
        await postAll(range(40).map(n => payment(100 + round * 40 + n, pair(n), 1)))
      }
    })().finally(() => {
      isOver = true
    })
    const taken: LedgerSnapshot[] = []
    while (!isOver) taken.push(await a.snapshot())
    await posting
    expect(taken.length).toBeGreaterThan(3)
    for (const { ledgerHw, owed, totals, recount } of taken) {
      expect(recount).toEqual(totals)
      const sums = await connections.all<{ name: string; sum: number }>(
        'SELECT name, sum(delta)::bigint AS sum FROM ledger_entry JOIN ledger_account ON number = account' +
          " WHERE transfer <= $1 AND kind = 'agent' GROUP BY name HAVING sum(delta) > 0 ORDER BY name",
        ledgerHw,
      )
      expect(owed).toEqual(sums.map(({ name: aid, sum: amount }) => ({ aid, amount })))
    }
  })
})
