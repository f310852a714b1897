/** Whatever is posted, the ledger in PostgreSQL and the one in SQLite answer alike, and hold the same after it. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { seed } from '../../../protocol/testing/slow.ts'
import { systemTimers } from '../../../protocol/timers.ts'
import { systemRandom } from '../../core/random.ts'
import { bytes, NOW_MS } from '../../testing/contract/world.ts'
import { EmbeddedPostgres } from '../../testing/pglite.ts'
import { openForTest } from '../../testing/postgres-contract.ts'
import type { AccountName, Posting } from '../ledger-port.ts'
import type { Store } from '../port.ts'
import { openStore } from '../sqlite/open.ts'

const ROUNDS = 60
const TOGETHER = 8
const NAMES = ['alice', 'bob', 'carol', 'dave']
const PEERS = ['hub-one', 'hub-two']
const REASONS = [
  'grant',
  'trial',
  'payment',
  'hold',
  'capture',
  'return',
  'refund',
  'redemption',
  'cleared',
] as const

const ISSUE: AccountName = { kind: 'issue', name: '' }
const RETIRED: AccountName = { kind: 'retired', name: '' }
const agent = (name: string): AccountName => ({ kind: 'agent', name })
const peer = (name: string): AccountName => ({ kind: 'peer', name })
const heldBy = (id: Uint8Array): AccountName => ({ kind: 'held', name: Buffer.from(id).toString('hex') })

/** Draws that follow from a seed alone. */
function drawing(from: number): (below: number) => number {
  let state = from >>> 0 || 1
  return below => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % below
  }
}

/** Transfers that may fit or not: of amounts that are there or not, of holds that are open or not, some of them twice. */
class Drawn {
  readonly #draw = drawing(seed)
  readonly #ids: Uint8Array[] = []
  #seq = 0

  of<T>(some: readonly T[]): T {
    return some[this.#draw(some.length)] as T
  }

  #newId(): Uint8Array {
    const id = bytes(36, 1)
    new DataView(id.buffer).setUint32(0, this.#ids.length)
    this.#ids.push(id)
    return id
  }

  posting(): Posting {
    const reason = this.of(REASONS)
    const amount = 1 + this.#draw(30)
    const [payer, payee] = [this.of([...NAMES.map(agent), ...PEERS.map(peer)]), this.of(NAMES.map(agent))]
    const about = this.#ids.length === 0 ? bytes(36, 9) : this.of(this.#ids)
    const id = this.#ids.length > 0 && this.#draw(12) === 0 ? about : this.#newId()
    const atMs = NOW_MS + this.#draw(1000)
    const shared = { id, reason, atMs, amount, receipt: bytes(4, amount) }
    const move = (from: AccountName, to: AccountName) => ({ ...shared, moves: [{ from, to, amount }] })
    const parties = { payer, payee }
    switch (reason) {
      case 'grant':
        return this.#withRecord(move(ISSUE, payee))
      case 'trial':
        return { ...move(ISSUE, payee), trials: { sinceMs: NOW_MS + 500, max: 60 } }
      case 'redemption':
        return { ...this.#withRecord(move(payee, RETIRED)), reference: `out ${amount}` }
      case 'cleared':
        return { ...move(ISSUE, peer(this.of(PEERS))), reference: `cleared ${amount % 3}` }
      case 'hold':
        return { ...move(payer, heldBy(id)), parties, holdUntilMs: atMs + 100, ...this.#toPeer() }
      case 'capture':
        return { ...move(heldBy(about), payee), about, parties }
      case 'return':
        return { ...move(heldBy(about), payer), about, parties }
      case 'refund':
        return { ...move(payee, payer), about, refundsMax: 20 }
      case 'payment':
        return {
          ...move(payer, payee),
          ...(this.#draw(3) === 0 ? { voucher: { voucher: id, redeemAt: 'here' } } : {}),
        }
    }
  }

  #toPeer(): Partial<Posting> {
    return this.#draw(2) === 0 ? {} : { holdPeer: peer(this.of(PEERS)) }
  }

  /** Sometimes one that doesn't go on from the head. */
  #withRecord(posting: Posting): Posting {
    const seq = this.#seq + (this.#draw(5) === 0 ? 1 : 0)
    const record = (n: number) => {
      const id = bytes(32, 3)
      new DataView(id.buffer).setUint32(0, n + 1)
      return id
    }
    return {
      ...posting,
      supply: { seq, id: record(seq), previous: record(seq - 1), record: bytes(9, seq % 256) },
    }
  }

  posted(posting: Posting, outcome: string): void {
    if (outcome === 'posted' && posting.supply !== undefined) this.#seq = posting.supply.seq + 1
  }

  get ids(): readonly Uint8Array[] {
    return this.#ids
  }
}

let server: EmbeddedPostgres
let stores: [Store, Store]
const directory = mkdtempSync(join(tmpdir(), 'svc-hub-same-'))
beforeAll(async () => {
  server = await EmbeddedPostgres.start()
  const outside = { timers: systemTimers, random: systemRandom, onBroken: () => undefined }
  stores = [openStore({ directory, release: 'test', ...outside }), await openForTest(server.connect())]
}, 60_000)
afterAll(async () => {
  for (const store of stores) await store.close()
  await server.stop()
  rmSync(directory, { recursive: true })
})

const answerOf = (store: Store, posting: Posting): Promise<string> =>
  store.post(posting).then(
    result =>
      result.outcome === 'held' ? `held ${result.transfer.reason} ${result.transfer.amount}` : result.outcome,
    () => 'broke',
  )

/** All that can be read of it; numbers of transfers may have gaps, and differ. */
async function heldIn(store: Store, ids: readonly Uint8Array[]) {
  const unnumbered = <T extends { seq: number }>(rows: readonly T[]) => rows.map(({ seq: _, ...row }) => row)
  const page = { before: undefined, sinceMs: NOW_MS + 100, limit: 1000 }
  const { ledgerHw: _, head, ...snapshot } = await store.snapshot()
  const agents = NAMES.map(async aid => [
    await store.holdings(aid, NOW_MS + 600),
    await store.accountTotals(aid),
    unnumbered(await store.ledgerEntries({ aid, ...page })),
  ])
  const peers = PEERS.map(async name => [
    (await store.peerFigures(name)).due,
    await store.leastClaim(name, NOW_MS + 300),
    unnumbered((await store.peerTransfers({ peer: name, after: 0, limit: 1000 })).transfers),
  ])
  const transfers = ids.map(async id => [
    unnumbered([await store.transfer(id)].flatMap(one => one ?? [])),
    await store.voucher(id),
    await store.openHold(id),
  ])
  const [lapsed, out] = [await store.lapsedHolds(NOW_MS + 500, 1000), await store.redemptions(page)]
  return {
    ...{ snapshot, head, records: await store.supplyRecords(0, 1000), out: unnumbered(out) },
    lapsed: lapsed.map(one => Buffer.from(one.transaction).toString('hex')).sort(),
    ...{ agents: await Promise.all(agents), peers: await Promise.all(peers) },
    transfers: await Promise.all(transfers),
    cleared: [await store.clearedAfter(0), (await store.clearedUnder('cleared 1')).length],
  }
}

test('both engines answer each transfer alike, and hold the same', async () => {
  const drawn = new Drawn()
  const counts = new Map<string, number>()
  for (let round = 0; round < ROUNDS; round++) {
    const postings = Array.from({ length: TOGETHER }, () => drawn.posting())
    const [here, there] = await Promise.all(
      stores.map(store => Promise.all(postings.map(posting => answerOf(store, posting)))),
    )
    expect([seed, round, there]).toEqual([seed, round, here])
    for (const [at, outcome] of (here ?? []).entries()) {
      drawn.posted(postings[at] as Posting, outcome)
      counts.set(outcome, (counts.get(outcome) ?? 0) + 1)
    }
  }
  const [one, other] = await Promise.all(stores.map(store => heldIn(store, drawn.ids)))
  expect([seed, other]).toEqual([seed, one])
  expect(await stores[1].booksAgree()).toBe(true)
  expect(counts.get('posted')).toBeGreaterThan(ROUNDS)
})
