/**
 * Ends of holds of which the provider said nothing: its task was withdrawn or declined, or its answer came without the
 * hub's word. The hub is asked for its receipt. Its ledger alone ends nothing: where it shows an end that the hub does not
 * sign for, the hold stays open with that as its reason.
 */
import type { Logger } from 'pino'
import { cidText } from '../../protocol/crypto/hash.ts'
import { Authorization, type SettlementKind, settlementKinds } from '../../protocol/proof/payment.ts'
import type { AccountEntry, HoldSaid, HubAccount, HubClient } from '../hubs/hub.ts'
import type { Store } from '../store/open.ts'
import { openHolds } from '../store/open-payments.ts'
import { noteProblem, type PaymentProblem, type PaymentRow } from '../store/payments.ts'
import type { Threads } from '../store/threads.ts'
import type { PaymentNews } from './news.ts'
import type { ProvenPayments } from './proven.ts'
import { quoteOfRow, type Receipts } from './receipts.ts'

type Asked = Pick<HubClient, 'credits' | 'identity' | 'refresh'>
export type Ended = { returned: string[]; taken: string[] }

const ROWS_MAX = 256
const ENTRIES_MAX = 500
/** A hub counts a hold whose time is over as given back before it posts that, within the hour. */
const NEAR_LAPSE_MS = 5 * 60_000
const LAPSE_POSTED_MS = 2 * 3_600_000
/** After this time an authorization that was not settled never will be. */
const TOLERANCE_MS = 4 * 60_000

const isListed = ({ payment }: PaymentRow, { entries }: HubAccount): boolean =>
  entries.some(({ transaction }) => transaction === cidText(payment))

type UnsettledParts = {
  store: Store
  threads: Threads
  receipts: Receipts
  proven: ProvenPayments
  news: PaymentNews
}

export class UnsettledHolds {
  readonly #store: Store
  readonly #threads: Threads
  readonly #receipts: Receipts
  readonly #proven: ProvenPayments
  readonly #news: PaymentNews
  readonly #hubNow: () => number
  readonly #log: Logger

  constructor({ store, threads, receipts, proven, news }: UnsettledParts, hubNow: () => number, log: Logger) {
    this.#store = store
    this.#threads = threads
    this.#receipts = receipts
    this.#proven = proven
    this.#news = news
    this.#hubNow = hubNow
    this.#log = log
  }

  /** Notes the ends that the hub has signed; ids of their tasks. */
  async ask(home: Asked, signal: AbortSignal): Promise<Ended> {
    const ended: Ended = { returned: [], taken: [] }
    const open = openHolds(this.#store, this.#hubNow(), ROWS_MAX)
    if (open.length === 0) return ended
    const before = await home.credits.account(ENTRIES_MAX, signal)
    const mayAsk = (row: PaymentRow) =>
      row.network === before.network && (isListed(row, before) || this.#isPast(row))
    const unsigned: PaymentRow[] = []
    for (const row of open.filter(mayAsk)) {
      const said = await home.credits.endOf(row.authorization, quoteOfRow(row), signal)
      const moved = await this.#take(home, row, said)
      if (moved === 'unsigned') unsigned.push(row)
      if (typeof moved !== 'number') continue
      const { id } = this.#threads.byKey(row.interaction)
      if (moved === 0) ended.returned.push(id)
      else ended.taken.push(id)
    }
    if (unsigned.length === 0) return ended
    const after = await home.credits.account(ENTRIES_MAX, signal)
    for (const row of unsigned) this.#noteUnsigned(row, { before, after })
    return ended
  }

  /** What the payee took of a hold that has ended, as the hub has signed; undefined where what it signed does not hold. */
  async #take(home: Asked, row: PaymentRow, said: HoldSaid): Promise<number | 'unsigned' | undefined> {
    if ('refused' in said) {
      // it signed that it holds this, and says that it does not
      if (row.heldReceipt !== null) this.#notePlain(row, 'hold_lost')
      return undefined
    }
    const { held, captured, returned } = settlementKinds
    // while nothing has ended, the provider's fault stays shown
    if (row.state === 'authorized' && (said.end !== undefined || row.problem !== 'false_receipt')) {
      if (!(await this.#holds(home, row, { receipt: said.receipt, kinds: [held] }))) return undefined
      this.#proven.noteTaken(row, said.receipt)
    }
    if (said.end === undefined) return 'unsigned'
    const isProven = await this.#holds(home, row, { receipt: said.end, kinds: [captured, returned] })
    return isProven ? this.#proven.noteEnd(row, said.end) : undefined
  }

  async #holds(
    home: Asked,
    row: PaymentRow,
    { receipt, kinds }: { receipt: Uint8Array; kinds: readonly SettlementKind[] },
  ): Promise<boolean> {
    const authorization = Authorization.decode(row.authorization)
    const fault = await this.#receipts.faultOf(home, receipt, { authorization, kinds })
    if (fault === undefined) return true
    this.#log.error({ fault }, 'the receipt of the hub does not hold')
    this.#notePlain(row, 'bad_receipt')
    return false
  }

  /** Whether asking can no longer make the payment. */
  #isPast({ authorization }: PaymentRow): boolean {
    return this.#hubNow() > Authorization.decode(authorization).body.notAfter + TOLERANCE_MS
  }

  /** The task is over, and the hub holds the credits still; or its ledger says that it does not, and it has signed nothing. */
  #noteUnsigned(row: PaymentRow, { before, after }: { before: HubAccount; after: HubAccount }): void {
    const isOfRow = (entry: AccountEntry) => entry.transaction === cidText(row.payment)
    const isBack = after.entries.some(entry => isOfRow(entry) && entry.delta > 0)
    const isGone = isListed(row, before) && after.held === 0 && !mayLapse(row.holdUntil, this.#hubNow())
    if (isBack || isGone) this.#notePlain(row, 'unproven')
    else if ((row.problem === null || row.problem === 'hold_lost') && isListed(row, before))
      this.#notePlain(row, 'still_held')
  }

  #notePlain(row: PaymentRow, problem: PaymentProblem): void {
    if (row.problem === problem) return
    this.#store.transaction(() => {
      noteProblem(this.#store, row.interaction, { problem, nextAt: this.#hubNow() })
      this.#news.changed(row.interaction)
    }, 'node.payment')
  }

  /** How many payments wait for such an end. */
  count(): number {
    return openHolds(this.#store, this.#hubNow(), ROWS_MAX).length
  }
}

/** Whether a hold may have lapsed without an entry that says so. */
export function mayLapse(holdUntil: number | null, nowMs: number): boolean {
  const pastMs = nowMs - (holdUntil ?? nowMs)
  return pastMs > -NEAR_LAPSE_MS && pastMs < LAPSE_POSTED_MS
}
