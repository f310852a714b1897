/**
 * What a hub owes this account: by its balance, by the entries that the hub shows of it, by the tree of an epoch, and by
 * what this node signed and holds receipts of. A credit that is not known here is nobody's loss; less than there should be,
 * a debit that was never signed, and an entry that is gone, are.
 */
import { cidText, parseCid } from '../../protocol/crypto/hash.ts'
import { Malformed } from '../../protocol/encoding/bytes.ts'
import { networkOf } from '../../protocol/proof/payment.ts'
import type { AccountEntry, HubClient } from '../hubs/hub.ts'
import type { Waker } from '../platform/waker.ts'
import {
  acceptedUntil,
  acceptShown,
  type Comparison,
  keepComparison,
  lastComparison,
} from '../store/hub-accounts.ts'
import type { Store } from '../store/open.ts'
import { receivedPayments } from '../store/open-payments.ts'
import { acceptLosses, acceptLostEnds, type PaymentRow, paymentById } from '../store/payments.ts'
import { endShown, type LostHolds, lostFault, orderedAgain, reopenLost } from './lost-holds.ts'
import { type LostOrder, type LostOrders, unprovenFault } from './lost-orders.ts'
import { namedEntries } from './nameless.ts'
import type { Authorized, OwnRecords, Signed } from './own-records.ts'
import { mayLapse } from './unsettled-holds.ts'

export type AccountView = {
  entries: AccountEntry[]
  /** Debits that this node did not sign. */
  unsigned: AccountEntry[]
  /** Debits of which it has no record because it was restored since. */
  afterBackup: LostOrder[]
  /** What the hub signed, and shows no entry of. */
  missing: Signed[]
  /** What the hub signed that it holds for this agent, or has given it, and does not have. */
  lost: PaymentRow[]
  /** Orders about what it lost go to it once more. */
  again: boolean
  /** Entries are shown in such a number that the last comparison is not among them. */
  isCut: boolean
  /** What the entries come to, where the balance is less. */
  short: { sum: number; balance: number } | undefined
  /** What the entries up to one come to at least. */
  sumAt(seq: number): number
  /** The next comparison goes on from here. */
  checkpoint: Comparison
}

/** A hub shows an account for 14 days; clocks may differ. */
const WINDOW_MS = 13 * 86_400_000
/** An authorization is made before it is settled. */
const SIGNED_BEFORE_MS = 86_400_000
/** So many entries are read at most. */
const ENTRIES_MAX = 100_000
const READS_MAX = 3

export function keepCheckpoint(store: Store, hub: string, { checkpoint }: AccountView): void {
  keepComparison(store, hub, checkpoint)
}

/** What the entries of an account came to at the last comparison. */
export const owedBefore = (store: Store, hub: string): number => lastComparison(store, hub)?.sum ?? 0

/** A person goes on with what the hub shows of this account now, whatever was moved before. */
export function acceptAccount(store: Store, hub: string, nowMs: number): void {
  acceptShown(store, hub, nowMs)
  acceptLosses(store, networkOf(hub))
  acceptLostEnds(store, networkOf(hub))
}

type ComparedParts = {
  store: Store
  records: OwnRecords
  lostHolds: LostHolds
  lostOrders: LostOrders
  payments: Waker
}

export class AccountComparison {
  readonly #store: Store
  readonly #records: OwnRecords
  readonly #lostHolds: LostHolds
  readonly #lostOrders: LostOrders
  readonly #payments: Waker
  readonly #hubNow: () => number

  /** `payments`: wakes what orders again what a hub lost. */
  constructor({ store, records, lostHolds, lostOrders, payments }: ComparedParts, hubNow: () => number) {
    this.#store = store
    this.#records = records
    this.#lostHolds = lostHolds
    this.#lostOrders = lostOrders
    this.#payments = payments
    this.#hubNow = hubNow
  }

  /** Compares what a hub shows of this account with what is known of it here. */
  async compare(hub: HubClient, signal: AbortSignal): Promise<AccountView> {
    const store = this.#store
    const { aid } = hub.identity
    const nowMs = this.#hubNow()
    const acceptedMs = acceptedUntil(store, aid)
    const sinceMs = Math.max(nowMs - WINDOW_MS, acceptedMs)
    const lost = await this.#lostHolds.at(hub, signal)
    // before the hub is asked: what is moved meanwhile is not missed
    const signed = this.#records.signedSince(aid, sinceMs)
    const received = receivedPayments(store, networkOf(aid), nowMs - WINDOW_MS)
    const account = await readAccount(hub, signal)
    const { balance } = account
    const authorized = this.#records.authorizedSince(nowMs - WINDOW_MS - SIGNED_BEFORE_MS)
    const entries = hub.credits.can.names
      ? account.entries
      : namedEntries(account.entries, { authorized, received, signed })
    const orders = await this.#lostOrders.at(hub, entries, signal)
    const oldest = entries.length < ENTRIES_MAX ? undefined : entries.at(-1)
    const isShown = shownIn(entries)
    const gained = new Set(entries.filter(({ delta }) => delta > 0).map(({ transaction }) => transaction))
    const isListed = ({ payment }: PaymentRow) => gained.has(cidText(payment))
    const back = received.filter(row => row.state === 'ending' && isListed(row))
    endShown(store, back)
    const isGone = (row: PaymentRow) =>
      row.state === 'ended' && row.problem !== 'hold_lost' && oldest === undefined && !isListed(row)
    const again = reopenLost(store, this.#payments, received.filter(isGone))
    const shown = signed.filter(({ atMs }) => oldest === undefined || atMs > oldest.atMs)
    const restored = restoredFrom(entries, authorized, aid)
    const isCutBefore = ({ seq }: Comparison) => seq < (oldest?.seq ?? 0)
    const isLongAgo = ({ atMs }: Comparison) => atMs < nowMs - WINDOW_MS
    const kept = lastComparison(store, aid)
    const base = kept === undefined || isLongAgo(kept) || isCutBefore(kept) ? { seq: 0, sum: 0 } : kept
    const from =
      kept === undefined && acceptedMs > 0 ? acceptedBase(store, this.#hubNow(), { entries, balance }) : base
    const isAccepted = acceptedIn(entries, { acceptedMs, kept })
    const sum = from.sum + total(entries.filter(({ seq }) => seq > from.seq))
    return {
      entries,
      ...explained(
        unsignedOf(entries, authorized, restored).filter(entry => !isAccepted.holds(entry)),
        orders,
      ),
      missing: shown.filter(
        one => !restored.has(one.transaction) && !isShown(one) && !again.has(one.transaction),
      ),
      again: again.size > 0,
      lost: lost.filter(one => back.every(({ interaction }) => interaction !== one.interaction)),
      short:
        balance !== undefined && balance + orderedAgain(store, networkOf(aid)) < sum
          ? { sum, balance }
          : undefined,
      isCut: kept !== undefined && isCutBefore(kept) && !isLongAgo(kept),
      sumAt: seq => sum - total(entries.filter(entry => entry.seq > seq)),
      checkpoint: {
        seq: entries[0]?.seq ?? from.seq,
        sum,
        atMs: nowMs,
        acceptedSeq: isAccepted.upTo,
      },
    }
  }
}

/**
 * What a person went on with: at the first look since, every entry that is dated before; later what stood there then as
 * well, since a hub dates its entries as it likes.
 */
function acceptedIn(
  entries: readonly AccountEntry[],
  { acceptedMs, kept }: { acceptedMs: number; kept: Comparison | undefined },
): { upTo: number | undefined; holds(entry: AccountEntry): boolean } {
  if (acceptedMs === 0) return { upTo: undefined, holds: () => false }
  const known = kept?.acceptedSeq ?? kept?.seq
  if (known !== undefined)
    return { upTo: known, holds: ({ seq, atMs }) => seq <= known && atMs <= acceptedMs }
  return { upTo: entries[0]?.seq ?? 0, holds: ({ atMs }) => atMs <= acceptedMs }
}

const total = (entries: readonly AccountEntry[]): number => entries.reduce((sum, { delta }) => sum + delta, 0)

/** Entries and the balance that goes with them; no balance where others kept coming in between. */
async function readAccount({ credits }: Pick<HubClient, 'credits'>, signal: AbortSignal) {
  for (let reads = 1; ; reads++) {
    const entries = await credits.entriesAfter(0, signal)
    const told = await credits.account(1, signal)
    if (told.entries[0]?.seq === entries[0]?.seq) return { entries, balance: told.balance }
    if (reads === READS_MAX) return { entries, balance: undefined }
  }
}

/** A balance counts what has lapsed before its entry is there: that is left out, or it would be counted twice. */
function acceptedBase(
  store: Store,
  nowMs: number,
  { entries, balance }: { entries: readonly AccountEntry[]; balance: number | undefined },
) {
  const back = new Set(entries.filter(({ delta }) => delta > 0).map(({ transaction }) => transaction))
  const untilOf = (transaction = '') => paymentSaid(store, transaction)?.holdUntil ?? null
  const lapsing = entries.filter(
    ({ reason, transaction }) =>
      reason === 'held' && !back.has(transaction) && mayLapse(untilOf(transaction), nowMs),
  )
  return { seq: entries[0]?.seq ?? 0, sum: Math.max(0, (balance ?? 0) + total(lapsing)) }
}

/** The payment of a task of ours that a hub names; undefined where it names none. */
export function paymentSaid(store: Store, transaction: string): PaymentRow | undefined {
  try {
    return paymentById(store, parseCid(transaction))
  } catch (error) {
    if (error instanceof Malformed) return undefined
    throw error
  }
}

/** A hub that was restored shows redemptions that came back with its supply chain without their id. */
function restoredFrom(
  entries: readonly AccountEntry[],
  authorized: readonly Authorized[],
  hub: string,
): Map<string, AccountEntry> {
  const shown = new Set(entries.map(({ transaction }) => transaction))
  const own = authorized.filter(({ payTo, transaction }) => payTo === hub && !shown.has(transaction))
  const found = new Map<string, AccountEntry>()
  for (const entry of entries) {
    if (entry.reason !== 'redemption' || entry.transaction) continue
    const match = own.find(({ amount, transaction }) => amount === -entry.delta && !found.has(transaction))
    if (match !== undefined) found.set(match.transaction, entry)
  }
  return found
}

function unsignedOf(
  entries: readonly AccountEntry[],
  authorized: readonly Authorized[],
  restored: ReadonlyMap<string, AccountEntry>,
): AccountEntry[] {
  const signed = new Map(authorized.map(({ transaction, amount }) => [transaction, amount]))
  const known = new Set(restored.values())
  // each was signed for one debit, the oldest
  for (const entry of entries.toReversed()) {
    const { transaction = '', delta } = entry
    if (signed.get(transaction) !== -delta) continue
    known.add(entry)
    signed.delete(transaction)
  }
  return entries.filter(entry => entry.delta < 0 && !known.has(entry))
}

/** Debits that are not known here, without those that a restore explains, and these. */
function explained(
  unsigned: readonly AccountEntry[],
  orders: readonly LostOrder[],
): Pick<AccountView, 'unsigned' | 'afterBackup'> {
  const isOf = (entry: AccountEntry) => (order: LostOrder) => order.seq === entry.seq
  return {
    unsigned: unsigned.filter(entry => !orders.some(isOf(entry))),
    afterBackup: orders.filter(
      order => order.state === 'signed' || unsigned.some(entry => isOf(entry)(order)),
    ),
  }
}

/** Whether the ledger has the entry of what was signed, with the amount that was signed. */
function shownIn(entries: readonly AccountEntry[]): (signed: Signed) => boolean {
  const shown = new Set(entries.map(({ transaction, delta }) => `${transaction} ${delta}`))
  return ({ transaction, kind, amount }) => {
    const isGain = kind === 'received' || kind === 'returned'
    return shown.has(`${transaction} ${isGain ? amount : -amount}`)
  }
}

const MOVED: Record<Signed['kind'], string> = {
  paid: 'was paid by this agent',
  received: 'was paid to this agent',
  returned: 'came back to this agent',
  redeemed: 'was redeemed by this agent',
}

/** Why this cannot be all that the hub owes; undefined where it can. */
export function accountFault(view: AccountView): string | undefined {
  const { unsigned, afterBackup, missing, lost: gone, isCut, short } = view
  const [debit] = unsigned
  if (debit !== undefined)
    return (
      `it took ${-debit.delta} credits by ${debit.transaction || 'an entry without an id'}, which this node did not sign: ` +
      'another program has the key of this identity, such as a payer of svc-x402, or the hub took what is not its own'
    )
  const unproven = afterBackup.find(({ state }) => state === 'unproven')
  if (unproven !== undefined) return unprovenFault(unproven)
  const [lost] = missing
  if (lost !== undefined)
    return `it signed that ${lost.transaction} ${MOVED[lost.kind]}, and its ledger has no such entry of ${lost.amount} credits`
  const [hold] = gone
  if (hold !== undefined) return lostFault(hold)
  if (isCut)
    return `it shows more than ${ENTRIES_MAX} entries since the last comparison, so that what came before cannot be compared`
  return (
    short && `its ledger comes to ${short.sum} credits for this agent, and its balance says ${short.balance}`
  )
}
