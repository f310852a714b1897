/**
 * Posting in PostgreSQL. Transfers that arrive together are judged here, one after another, over the accounts of all of
 * them, and written by one statement a table. Whoever posts holds the names of the accounts, so that none of them changes
 * meanwhile, and the transfers of an account are numbered in the order of commits.
 */
import { toHex } from '../../../protocol/encoding/bytes.ts'
import type {
  AccountName,
  NewSupplyRecord,
  PostedTransfer,
  Posting,
  PostResult,
  SupplyHead,
  Totals,
} from '../ledger-port.ts'
import { postedOf, type StoredTotals, type StoredTransfer, totalsOf, transferOf } from '../ledger-rows.ts'
import { type Books, changesTotals, endedHold, judge, type NewHold, openedHold } from '../posting.ts'
import type { Queries } from './connections.ts'
import type { Write } from './groups.ts'
import { type Account, type Posted, type PostedGroup, storePosted } from './ledger-rows.ts'
import type { Locks } from './locks.ts'
import { addRecords, readHead, SUPPLY_CHAIN } from './supply-rows.ts'
import { keepVouchers } from './vouchers.ts'

const TRANSFER = 'seq, reason, amount, at_ms, receipt, "authorization", reference'

export const postingQueries = {
  transfers: `SELECT id, ${TRANSFER} FROM ledger_transfer WHERE id = ANY($1::bytea[])`,
  accounts:
    'SELECT number, kind, name, balance, coalesce(is_open, false) AS "isOpen" FROM ledger_account' +
    ' LEFT JOIN ledger_hold ON account = number' +
    ' WHERE (kind, name) IN (SELECT * FROM unnest($1::text[], $2::text[]))',
  totals: 'SELECT agents, holds, issued, retired, owed_by_peers, due_to_peers FROM ledger_totals',
  versions: 'SELECT aid, version FROM agent WHERE aid = ANY($1::text[])',
  refunded:
    'SELECT about, sum(amount)::bigint AS sum FROM ledger_transfer' +
    " WHERE about = ANY($1::bytea[]) AND reason = 'refund' GROUP BY about",
  trials:
    "SELECT coalesce(sum(amount), 0)::bigint AS sum FROM ledger_transfer WHERE reason = 'trial' AND at_ms >= $1",
} as const

export const readTransfer = async (db: Queries, id: Uint8Array): Promise<PostedTransfer | undefined> => {
  const row = await db.one<StoredTransfer>(postingQueries.transfers, [id])
  return row && transferOf(row)
}

export async function readTotals(db: Queries): Promise<Totals> {
  const none = { agents: 0, holds: 0, issued: 0, retired: 0, owed_by_peers: 0, due_to_peers: 0 }
  return totalsOf((await db.one<StoredTotals>(postingQueries.totals)) ?? none)
}

const keyOf = ({ kind, name }: AccountName): string => `${kind} ${name}`
const nameOf = (bytes: Uint8Array | undefined): string => (bytes === undefined ? '' : toHex(bytes))

/** Every account that a transfer names. */
const accountsOf = ({ moves, parties, holdPeer }: Posting): AccountName[] => [
  ...moves.flatMap(({ from, to }) => [from, to]),
  ...(parties === undefined ? [] : [parties.payer, parties.payee]),
  ...(holdPeer === undefined ? [] : [holdPeer]),
]

/** What a change of an account locks. */
export const accountLock = (account: AccountName): string => `account ${keyOf(account)}`
/** What a change about a transaction locks. */
export const transferLock = (id: Uint8Array): string => `transfer ${toHex(id)}`

/** What transfers lock: payments between agents wait for those of the same agents alone. */
export const postingLocks = (...postings: readonly Posting[]): Locks => ({
  subjects: postings.flatMap(posting => [
    transferLock(posting.id),
    ...accountsOf(posting).map(accountLock),
    ...(posting.reason === 'refund' || posting.refundsMax !== undefined
      ? [`refunds ${nameOf(posting.about)}`]
      : []),
    ...(posting.reason === 'trial' || posting.trials !== undefined ? ['trial credits'] : []),
    ...(posting.supply === undefined ? [] : [SUPPLY_CHAIN]),
    ...(changesTotals(posting) ? ['ledger totals'] : []),
  ]),
  judgedBy: postings.flatMap(({ judgedBy = [] }) => judgedBy.map(({ aid }) => aid)),
})

/** What a group of transfers finds, and what it changes as they are judged one after another. */
export class PostingGroup implements Books<Account>, PostedGroup {
  readonly #transfers: Map<string, PostedTransfer>
  readonly #accounts: Map<string, Account>
  readonly #versions: ReadonlyMap<string, number>
  readonly #refunded: Map<string, number>
  readonly #trialsSince: Map<number, number>
  #totals: Totals
  #head: SupplyHead | undefined
  readonly #records: NewSupplyRecord[] = []
  readonly posted: Posted[] = []
  readonly opened: NewHold[] = []
  readonly ended: AccountName[] = []
  readonly trials = new Set<Account>()

  private constructor(found: Found) {
    this.#transfers = new Map(found.transfers.map(row => [toHex(row.id), transferOf(row)]))
    this.#accounts = new Map(found.accounts.map(row => [keyOf(row), row]))
    this.#versions = new Map(found.versions.map(({ aid, version }) => [aid, version]))
    this.#refunded = new Map(found.refunded.map(({ about, sum }) => [toHex(about), sum]))
    this.#trialsSince = new Map(found.trials)
    this.#totals = found.totals
    this.#head = found.head
  }

  static async read(db: Queries, postings: readonly Posting[]): Promise<PostingGroup> {
    return new PostingGroup(await find(db, postings))
  }

  /** Posts a transfer once; every later one with its id gets the first. What is posted has its number once it is stored. */
  post(posting: Posting): PostResult {
    const id = toHex(posting.id)
    const held = this.#transfers.get(id)
    if (held !== undefined) return { outcome: 'held', transfer: held }
    const judged = judge(posting, this)
    if ('refused' in judged) return { outcome: judged.refused }
    const transfer = postedOf(posting, 0)
    const result = { outcome: 'posted' as const, seq: 0 }
    this.#transfers.set(id, transfer)
    this.posted.push({ posting, transfer, result, changes: judged.changes })
    for (const { account, delta } of judged.changes) account.balance += delta
    this.#totals = judged.totals
    this.#countBounds(posting)
    this.#endOrOpenHold(posting)
    if (posting.supply !== undefined) this.#records.push(posting.supply)
    this.#head = posting.supply ?? this.#head
    return result
  }

  #countBounds({ reason, amount, about, atMs, trials, moves: [first] }: Posting): void {
    if (reason === 'refund')
      this.#refunded.set(nameOf(about), (this.#refunded.get(nameOf(about)) ?? 0) + amount)
    if (reason === 'trial')
      for (const [sinceMs, sum] of this.#trialsSince)
        if (atMs >= sinceMs) this.#trialsSince.set(sinceMs, sum + amount)
    if (trials !== undefined && first !== undefined) this.trials.add(this.accountOf(first.to))
  }

  #endOrOpenHold(posting: Posting): void {
    const ended = endedHold(posting)
    if (ended !== undefined) {
      this.ended.push(ended)
      this.accountOf(ended).isOpen = false
    }
    const opened = openedHold(posting)
    if (opened === undefined) return
    this.opened.push(opened)
    this.accountOf(opened.account).isOpen = true
  }

  async store(db: Queries): Promise<void> {
    if (this.posted.length === 0) return
    await storePosted(db, this)
    if (this.#records.length > 0) await addRecords(db, this.#records)
    const vouchers = this.posted.flatMap(({ transfer, posting: { voucher } }) =>
      voucher === undefined ? [] : [{ transfer: transfer.seq, ...voucher }],
    )
    if (vouchers.length > 0) await keepVouchers(db, vouchers)
  }

  get changedTotals(): Totals | undefined {
    return this.posted.some(({ posting }) => changesTotals(posting)) ? this.#totals : undefined
  }

  accountOf = (name: AccountName): Account => {
    const key = keyOf(name)
    const held = this.#accounts.get(key)
    if (held !== undefined) return held
    const added: Account = { ...name, number: 0, balance: 0, isOpen: false }
    this.#accounts.set(key, added)
    return added
  }

  totals = (): Totals => this.#totals
  head = (): SupplyHead | undefined => this.#head
  versionOf = (aid: string): number | undefined => this.#versions.get(aid)
  isOpenHold = (account: AccountName): boolean => this.accountOf(account).isOpen
  refundedOf = (about: Uint8Array | undefined): number => this.#refunded.get(nameOf(about)) ?? 0
  trialsSince = (ms: number): number => this.#trialsSince.get(ms) ?? 0
}

type Found = {
  transfers: (StoredTransfer & { id: Uint8Array })[]
  accounts: Account[]
  totals: Totals
  head: SupplyHead | undefined
  versions: { aid: string; version: number }[]
  refunded: { about: Uint8Array; sum: number }[]
  trials: [sinceMs: number, sum: number][]
}

/** Asks what the transfers are judged by, and nothing that none of them needs. */
async function find(db: Queries, postings: readonly Posting[]): Promise<Found> {
  const names = postings.flatMap(accountsOf)
  const aids = postings.flatMap(({ judgedBy = [] }) => judgedBy.map(({ aid }) => aid))
  const refunded = postings.flatMap(({ about, refundsMax }) =>
    about === undefined || refundsMax === undefined ? [] : [about],
  )
  const since = new Set(postings.flatMap(({ trials }) => (trials === undefined ? [] : [trials.sinceMs])))
  const trials: Found['trials'] = []
  for (const ms of since)
    trials.push([ms, (await db.one<{ sum: number }>(postingQueries.trials, ms))?.sum ?? 0])
  return {
    transfers: await db.all(
      postingQueries.transfers,
      postings.map(({ id }) => id),
    ),
    accounts: await db.all(
      postingQueries.accounts,
      names.map(({ kind }) => kind),
      names.map(({ name }) => name),
    ),
    totals: await readTotals(db),
    head: postings.some(({ supply }) => supply !== undefined) ? await readHead(db) : undefined,
    versions: aids.length === 0 ? [] : await db.all(postingQueries.versions, aids),
    refunded: refunded.length === 0 ? [] : await db.all(postingQueries.refunded, refunded),
    trials,
  }
}

/** Posts transfers in their order, each by itself. */
export async function postAll(db: Queries, postings: readonly Posting[]): Promise<PostResult[]> {
  const group = await PostingGroup.read(db, postings)
  const results = postings.map(posting => group.post(posting))
  await group.store(db)
  return results
}

export async function postOne(db: Queries, posting: Posting): Promise<PostResult> {
  const [result] = await postAll(db, [posting])
  if (result === undefined) throw new Error('a transfer has no outcome')
  return result
}

export const post: Write<Posting, PostResult> = { locks: postingLocks, makeAll: postAll }

/** All or none, where the first one fits. */
export const postTogether: Write<readonly Posting[], PostResult['outcome']> = {
  locks: postings => postingLocks(...postings),
  async make(db, postings) {
    const group = await PostingGroup.read(db, postings)
    for (const [at, posting] of postings.entries()) {
      const { outcome } = group.post(posting)
      if (outcome === 'posted') continue
      if (at > 0) throw new Error(`a transfer that goes with another is not posted: ${outcome}`)
      return outcome
    }
    await group.store(db)
    return 'posted'
  },
}
