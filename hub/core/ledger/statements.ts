/** What an account sees of itself (hub API §4.4): its entries and redemptions of the last 14 days, newest first. */
import type { LedgerEntry, LedgerStore, TransferReason } from '../../store/ledger-port.ts'
import type { HubContext } from '../context.ts'
import { DAY_MS } from '../limits.ts'
import { type Settled, settledOf } from './settlements.ts'

const WINDOW_DAYS = 14

/** In the words of the account's owner. */
export type EntryReason =
  | 'trial'
  | 'grant'
  | 'paid'
  | 'received'
  | 'held'
  | 'captured'
  | 'returned'
  | 'refund'
  | 'redemption'
export type Entry = Omit<LedgerEntry, 'reason'> & { reason: EntryReason }
/** A debit, and what its payer signed for it. */
export type Authorized = { seq: number; atMs: number; transaction: Uint8Array; authorization: Uint8Array }
export type Page = { limit: number; before: number | undefined }
export type Statement<T> = {
  windowDays: number
  /** The first entry of the window; none where it has none. */
  oldestSeq: number | undefined
  entries: T[]
  next: string | undefined
}

/** The newest entries of an account, and what is known of all of it. */
export type WholeAccount = { entries: Entry[]; total: number; sum: number }

export class Statements {
  readonly #store: LedgerStore
  readonly #now: () => number

  constructor({ store, now }: Pick<HubContext, 'store' | 'now'>) {
    this.#store = store
    this.#now = now
  }

  async entries(aid: string, page: Page): Promise<Statement<Entry>> {
    const { rows, ...statement } = await this.#read(aid, page)
    return { ...statement, entries: rows.map(row => ({ ...row, reason: reasonOf(row) })) }
  }

  async redemptions(aid: string, page: Page): Promise<Statement<{ settled: Settled; reference: string }>> {
    const { rows, ...statement } = await this.#read(aid, page, 'redemption')
    const entries = await Promise.all(rows.map(row => this.#redemption(row)))
    return { ...statement, entries: entries.filter(entry => entry !== undefined) }
  }

  /** The newest entries, however old they are. */
  async newest(aid: string, limit: number): Promise<WholeAccount> {
    const query = { aid, sinceMs: 0, before: undefined, limit }
    const rows = await this.#store.ledgerEntries(query)
    const { entries, sum } = await this.#store.accountTotals(aid)
    return { entries: rows.map(row => ({ ...row, reason: reasonOf(row) })), total: entries, sum }
  }

  /** The same of redemptions. */
  async newestRedemptions(aid: string, limit: number): Promise<{ settled: Settled; reference: string }[]> {
    const query = { aid, sinceMs: 0, before: undefined, limit, reason: 'redemption' as const }
    const rows = await this.#store.ledgerEntries(query)
    const entries = await Promise.all(rows.map(row => this.#redemption(row)))
    return entries.filter(entry => entry !== undefined)
  }

  /** What an account signed for its debits, as far as it was kept: an earlier release kept none. */
  async authorizations(aid: string, page: Page): Promise<Statement<Authorized>> {
    const { rows, ...statement } = await this.#read(aid, page)
    const debits = rows.filter(({ delta }) => delta < 0)
    const entries = await Promise.all(debits.map(row => this.#authorized(row)))
    return { ...statement, entries: entries.filter(entry => entry !== undefined) }
  }

  async #authorized({ seq, atMs, transaction }: LedgerEntry): Promise<Authorized | undefined> {
    const authorization = transaction && (await this.#store.transfer(transaction))?.authorization
    return authorization && { seq, atMs, transaction, authorization }
  }

  /** The reference under which a redemption was made first. */
  async referenceOf({ body }: Settled): Promise<string> {
    return (await this.#store.transfer(body.transaction))?.reference ?? ''
  }

  async #redemption({
    transaction,
  }: LedgerEntry): Promise<{ settled: Settled; reference: string } | undefined> {
    const transfer = transaction && (await this.#store.transfer(transaction))
    const settled = transfer && settledOf(transfer)
    return settled && { settled, reference: transfer.reference ?? '' }
  }

  async #read(
    aid: string,
    { limit, before }: Page,
    reason?: TransferReason,
  ): Promise<Omit<Statement<never>, 'entries'> & { rows: LedgerEntry[] }> {
    const sinceMs = this.#now() - WINDOW_DAYS * DAY_MS
    const query = { aid, sinceMs, reason }
    const rows = await this.#store.ledgerEntries({ ...query, before, limit: limit + 1 })
    const shown = rows.slice(0, limit)
    const last = shown.at(-1)
    return {
      windowDays: WINDOW_DAYS,
      oldestSeq: await this.#store.oldestEntry(aid, sinceMs),
      rows: shown,
      next: rows.length > limit && last !== undefined ? String(last.seq) : undefined,
    }
  }
}

const reasons: Record<TransferReason, [gained: EntryReason, given: EntryReason]> = {
  trial: ['trial', 'trial'],
  grant: ['grant', 'grant'],
  payment: ['received', 'paid'],
  hold: ['held', 'held'],
  // what was not captured comes back to the payer in the same transfer
  capture: ['captured', 'captured'],
  return: ['returned', 'returned'],
  refund: ['refund', 'refund'],
  redemption: ['redemption', 'redemption'],
  // came back with the supply chain after a restore
  restored: ['grant', 'redemption'],
  // between hubs, whose accounts nobody reads
  cleared: ['grant', 'redemption'],
}

function reasonOf({ reason, delta }: LedgerEntry): EntryReason {
  return reasons[reason][delta > 0 ? 0 : 1]
}
