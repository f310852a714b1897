/** How a transfer is judged before its first row is written, whichever engine keeps the ledger. */
import { totalsAgree } from './books.ts'
import type { AccountName, NewSupplyRecord, Posting, PostResult, SupplyHead, Totals } from './ledger-port.ts'

const CREDITS_MAX = Number.MAX_SAFE_INTEGER

export type Balance = { balance: number }
/** What a transfer changes of one account, and whom the owner of that sees on the other side. */
export type Change<A extends Balance> = { account: A; name: AccountName; delta: number; other: AccountName }
export type PostRefused = Exclude<PostResult['outcome'], 'posted' | 'held'>

/** What an engine knows at the moment of a transfer. */
export interface Books<A extends Balance> {
  /** One that there is not yet has nothing. */
  accountOf(name: AccountName): A
  totals(): Totals
  head(): SupplyHead | undefined
  /** Of the row of an agent in the registry; undefined where it has none. */
  versionOf(aid: string): number | undefined
  /** Whether the hold of an account is open. */
  isOpenHold(account: AccountName): boolean
  /** How much of a payment was given back. */
  refundedOf(about: Uint8Array | undefined): number
  /** How much was given as trial credits from a time on. */
  trialsSince(ms: number): number
}

/** What a transfer changes, or why it is not posted. */
export type Judged<A extends Balance> =
  | { changes: readonly Change<A>[]; totals: Totals }
  | { refused: PostRefused }

export function judge<A extends Balance>(posting: Posting, books: Books<A>): Judged<A> {
  const changes = changesOf(posting, books)
  const totals = nextTotals(books.totals(), changes)
  const refused = refusal(posting, books, changes) ?? sumsRefused(changes, totals) ?? bound(posting, books)
  return refused === undefined ? { changes, totals } : { refused }
}

/** One change for each account, however many moves touch it. */
function changesOf<A extends Balance>({ moves, parties }: Posting, books: Books<A>): Change<A>[] {
  const changes: Change<A>[] = []
  const add = (name: AccountName, delta: number, other: AccountName): void => {
    const held = changes.find(change => sameName(change.name, name))
    if (held !== undefined) held.delta += delta
    else changes.push({ account: books.accountOf(name), name, delta, other: otherOf(name, other, parties) })
  }
  for (const { from, to, amount } of moves) {
    add(from, -amount, to)
    add(to, amount, from)
  }
  return changes
}

const sameName = (a: AccountName, b: AccountName): boolean => a.kind === b.kind && a.name === b.name

/** Whom the owner of an account sees on the other side. */
function otherOf(name: AccountName, other: AccountName, parties: Posting['parties']): AccountName {
  if (parties === undefined || name.kind === 'held') return other
  return sameName(name, parties.payer) ? parties.payee : parties.payer
}

function nextTotals<A extends Balance>(totals: Totals, changes: readonly Change<A>[]): Totals {
  const next = { ...totals }
  for (const { account, name, delta } of changes) {
    const { balance } = account
    if (name.kind === 'agent') next.agents += delta
    else if (name.kind === 'held') next.holds += delta
    else if (name.kind === 'issue') next.issued -= delta
    else if (name.kind === 'retired') next.retired += delta
    else {
      next.dueToPeers += Math.max(0, balance + delta) - Math.max(0, balance)
      next.owedByPeers += Math.max(0, -(balance + delta)) - Math.max(0, -balance)
    }
  }
  return next
}

/** Whether a transfer can change the totals: one between agents does not. */
export const changesTotals = ({ moves }: Posting): boolean =>
  moves.some(({ from, to }) => from.kind !== 'agent' || to.kind !== 'agent')

function refusal<A extends Balance>(
  posting: Posting,
  books: Books<A>,
  changes: readonly Change<A>[],
): PostRefused | undefined {
  if (posting.judgedBy?.some(row => books.versionOf(row.aid) !== row.version)) return 'moved'
  if (posting.supply !== undefined && !goesOn(books.head(), posting.supply)) return 'headMoved'
  const [first] = posting.moves
  if (endsHold(posting) && (first === undefined || !books.isOpenHold(first.from))) return 'noHold'
  const short = changes.some(
    ({ account: { balance }, name: { kind }, delta }) =>
      kind !== 'issue' && kind !== 'peer' && balance + delta < 0,
  )
  return short ? 'insufficient' : undefined
}

function sumsRefused<A extends Balance>(
  changes: readonly Change<A>[],
  totals: Totals,
): PostRefused | undefined {
  const sums = [...Object.values(totals), ...changes.map(({ account, delta }) => account.balance + delta)]
  if (sums.some(sum => Math.abs(sum) > CREDITS_MAX)) return 'overflow'
  return totalsAgree(totals) ? undefined : 'stopped'
}

function bound<A extends Balance>(posting: Posting, books: Books<A>): PostRefused | undefined {
  const { amount, about, refundsMax, trials } = posting
  if (refundsMax !== undefined && books.refundedOf(about) + amount > refundsMax) return 'refundedOver'
  if (trials !== undefined && books.trialsSince(trials.sinceMs) + amount > trials.max) return 'trialsOver'
  return undefined
}

export const endsHold = ({ reason }: Posting): boolean => reason === 'capture' || reason === 'return'

/** The account of the hold that a transfer ends. */
export const endedHold = (posting: Posting): AccountName | undefined =>
  endsHold(posting) ? posting.moves[0]?.from : undefined

export type NewHold = {
  account: AccountName
  payer: AccountName
  payee: AccountName
  untilMs: number
  peer: AccountName | undefined
}

/** The hold that a transfer opens. */
export function openedHold({ moves, parties, holdUntilMs, holdPeer }: Posting): NewHold | undefined {
  const [first] = moves
  if (first === undefined || holdUntilMs === undefined || parties === undefined) return undefined
  return { account: first.to, ...parties, untilMs: holdUntilMs, peer: holdPeer }
}

/** Whether a record goes on from the head of the supply chain. */
export function goesOn(head: SupplyHead | undefined, { seq, previous }: NewSupplyRecord): boolean {
  if (head === undefined) return seq === 0
  return head.seq === seq - 1 && Buffer.compare(head.id, previous) === 0
}
