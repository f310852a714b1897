/** What tasks cost, as their providers said, and what people and rules decided about it. */
import { flag, integer, oneOf, orNull, type RowOf, text } from './columns.ts'
import type { Store } from './open.ts'

export const quotesTable = {
  name: 'quotes',
  columns: {
    interaction: integer,
    orderedBy: orNull(oneOf<'person' | 'agent'>(text)),
    creditsMax: orNull(integer),
    state: oneOf<'awaited' | 'open' | 'paid' | 'refused'>(text),
    amount: orNull(integer),
    network: orNull(text),
    holdSeconds: orNull(integer),
    settleSeconds: orNull(integer),
    reason: orNull(text),
    paidAs: orNull(integer),
    starts: orNull(integer),
    says: orNull(text),
    shown: flag,
  },
} as const
export type QuoteRow = RowOf<typeof quotesTable>

export function quoteOf(store: Store, interaction: number): QuoteRow | undefined {
  return store.row('SELECT * FROM quotes WHERE interaction = ?', interaction)
}

/** Somebody said beforehand that a task of ours shall be paid for. */
export function orderPayment(
  store: Store,
  interaction: number,
  by: 'person' | 'agent',
  creditsMax: number | undefined,
): void {
  store.run(
    "INSERT INTO quotes (interaction, ordered_by, credits_max, state) VALUES (?, ?, ?, 'awaited')",
    interaction,
    by,
    creditsMax ?? null,
  )
}

type Quoted = {
  amount: number
  network: string
  holdSeconds: number | undefined
  settleSeconds: number
  starts?: number | undefined
  /** The sentence of the provider, where it is none that its terms make. */
  says?: string | undefined
}

/** The price came; what was ordered beforehand stays. */
export function noteQuote(store: Store, interaction: number, quote: Quoted): void {
  store.run(
    `INSERT INTO quotes (interaction, state, amount, network, hold_seconds, settle_seconds, starts, says)
     VALUES (?, 'open', ?, ?, ?, ?, ?, ?)
     ON CONFLICT (interaction) DO UPDATE SET state = 'open', amount = excluded.amount, network = excluded.network,
       hold_seconds = excluded.hold_seconds, settle_seconds = excluded.settle_seconds, starts = excluded.starts,
       says = excluded.says
     WHERE state = 'awaited'`,
    interaction,
    quote.amount,
    quote.network,
    quote.holdSeconds ?? null,
    quote.settleSeconds,
    quote.starts ?? null,
    quote.says ?? null,
  )
}

/** A person reads what a task costs. */
export function markQuoteShown(store: Store, interaction: number): void {
  store.run(
    'UPDATE quotes SET shown = 1 WHERE interaction = ? AND amount IS NOT NULL AND shown = 0',
    interaction,
  )
}

export function markQuotePaid(store: Store, interaction: number, paidAs: number): void {
  store.run(
    "UPDATE quotes SET state = 'paid', reason = NULL, paid_as = ? WHERE interaction = ?",
    paidAs,
    interaction,
  )
}

/** Why it is not paid: for now, where a person can still decide, or for good. */
export function sayWhyUnpaid(store: Store, interaction: number, reason: string, forGood = false): void {
  store.run(
    "UPDATE quotes SET reason = ?2, state = iif(?3, 'refused', state) WHERE interaction = ?1",
    interaction,
    reason,
    forGood ? 1 : 0,
  )
}

/**
 * What a person paid last for the same, else what one was last shown when it was only asked about; undefined where neither
 * ever was. What a program asked or paid counts for nothing here.
 */
export function knownPrice(
  store: Store,
  { interaction, network }: Pick<QuoteRow, 'interaction' | 'network'>,
): number | undefined {
  return store.get<{ amount: number }>(
    `SELECT q.amount, p.interaction IS NOT NULL AS is_paid
     FROM interactions AS now JOIN interactions AS i ON i.peer = now.peer JOIN quotes AS q ON q.interaction = i.key
       LEFT JOIN payments AS p ON p.interaction = q.paid_as AND p.ordered_by = 'person' AND p.state <> 'refused'
     WHERE now.key = ?1 AND i.key < ?1 AND i.capability IS now.capability AND q.network = ?2
       AND (p.interaction IS NOT NULL
         OR q.shown = 1 AND q.paid_as IS NULL AND q.ordered_by IS NULL AND i.key NOT IN (SELECT interaction FROM payments))
     ORDER BY is_paid DESC, i.key DESC LIMIT 1`,
    interaction,
    network,
  )?.amount
}

/** Quotes that nobody has judged so far. */
export function freshQuotes(store: Store, max: number): QuoteRow[] {
  return store.rows(
    "SELECT * FROM quotes WHERE state = 'open' AND reason IS NULL ORDER BY interaction LIMIT ?",
    max,
  )
}

/** Who asks a price that was neither paid nor refused. */
export const payeesOfOpenQuotes = (store: Store): string[] =>
  store
    .all<{ peer: string }>(
      `SELECT DISTINCT i.peer FROM quotes AS q JOIN interactions AS i ON i.key = q.interaction
       WHERE q.state = 'open' AND i.side = 'sent'`,
    )
    .map(({ peer }) => peer)
