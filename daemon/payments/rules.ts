/** What is paid without a person: so much for one payment, so much a day, so much to one agent a day. */
import { priceSaid } from '../../protocol/proof/quote.ts'
import { type SpendConfig, spendDefaults } from '../home/payment-config.ts'
import type { Settings } from '../home/settings.ts'
import type { Store } from '../store/open.ts'
import { hasPaidAcross, wasPaidBefore } from '../store/open-payments.ts'
import { knownPrice, type QuoteRow } from '../store/quotes.ts'
import { type LostPayments, sayDoubt } from './lost-payments.ts'
import type { OtherHub } from './other-hub.ts'
import type { OwnCredits } from './own-credits.ts'

const DAY_MS = 86_400_000

type Rules = { spend: SpendConfig | undefined; nowMs: number; payee: string }

type RuleParts = {
  store: Store
  settings: Settings
  credits: OwnCredits
  lost: LostPayments
  otherHub: OtherHub
}

/** The rules of this node, as its settings have them. */
export class SpendingRules {
  readonly #store: Store
  readonly #settings: Settings
  readonly #credits: OwnCredits
  readonly #lost: LostPayments
  readonly #otherHub: OtherHub
  readonly #hubNow: () => number

  constructor({ store, settings, credits, lost, otherHub }: RuleParts, hubNow: () => number) {
    this.#store = store
    this.#settings = settings
    this.#credits = credits
    this.#lost = lost
    this.#otherHub = otherHub
    this.#hubNow = hubNow
  }

  /** Whether a price in credits of the home cannot be judged yet, since nobody has said what lost copies paid. */
  isWaiting(quote: QuoteRow): boolean {
    if (!this.#credits.areAskedBy(quote)) return false
    const doubt = this.#lost.doubtOf(quote)
    return doubt !== undefined && doubt.state !== 'paid'
  }

  /** Why a price is not paid without a person, in a sentence; undefined where it may be paid now. */
  whyNot(quote: QuoteRow, payee: string): string | undefined {
    const rules = { spend: this.#settings.current.spend, nowMs: this.#hubNow(), payee }
    const parts = { store: this.#store, lost: this.#lost }
    return this.#credits.whyNotFor(quote) ?? this.#whyFirst(quote, payee) ?? whyNotPaid(parts, quote, rules)
  }

  /** Two hubs learn of a payment between them: a person says once that they may. */
  #whyFirst({ amount }: QuoteRow, payee: string): string | undefined {
    const other = this.#otherHub.of(payee)
    if (other === undefined || hasPaidAcross(this.#store)) return undefined
    return (
      `it costs ${amount ?? 0} credits, and it is the first payment to an agent of another hub: both hubs, yours and ` +
      `${other}, learn who pays whom, how much, and when`
    )
  }
}

/** Why a price waits for a person, in words that go on with its amount; undefined where it may be paid now. */
export function whyNotPaid(
  { store, lost }: { store: Store; lost: LostPayments },
  quote: QuoteRow,
  rules: Rules,
): string | undefined {
  const { spend = spendDefaults, nowMs, payee } = rules
  const amount = quote.amount ?? 0
  const costs = `it costs ${amount} credits`
  if (quote.holdSeconds === null) return `${costs} at once and without a hold, so nothing of it comes back`
  if (wasPaidBefore(store, quote.interaction))
    return `${costs}, and the same task was paid for before its recipient lost it; a person says whether it is paid once more`
  const doubt = lost.doubtOf(quote)
  if (doubt !== undefined) return `${costs}, and ${sayDoubt(doubt)}`
  const said = quote.says === null ? undefined : priceSaid(quote.says, { amount })
  if (said !== undefined) return `${costs} by its terms, and its words name ${said}: “${quote.says}”`
  if (quote.creditsMax !== null && amount > quote.creditsMax)
    return `${costs}, more than the ${quote.creditsMax} that were allowed for it`
  if (quote.orderedBy === 'person') return quote.creditsMax === null ? whyNotKnown(store, quote) : undefined
  const max = quote.orderedBy === 'agent' ? spend.agent_max : spend.auto_max
  if (amount > max) return `${costs}, and ${max} may be spent at once without a person`
  const today = Math.floor(nowMs / DAY_MS) * DAY_MS
  const left = spend.day_max - lost.spent(today, undefined)
  if (amount > left)
    return `${costs}, and ${Math.max(left, 0)} are left of what may be spent today without a person`
  const leftOfPayee = spend.payee_day_max - lost.spent(today, payee)
  if (amount > leftOfPayee)
    return `${costs}, and ${Math.max(leftOfPayee, 0)} are left of what this agent may get today without a person`
  return undefined
}

/** A person who names no most pays what the same has cost before, or what they were told when they asked. */
function whyNotKnown(store: Store, quote: QuoteRow): string | undefined {
  const amount = quote.amount ?? 0
  const known = knownPrice(store, quote)
  if (known === undefined)
    return `it costs ${amount} credits, and nothing says that so many may be paid for it`
  return amount > known ? `it costs ${amount} credits, more than the ${known} that it cost before` : undefined
}
