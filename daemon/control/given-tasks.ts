/** Tasks that this node gave: waiting for their answers, and what came of them. */
import { decodePayload, kinds } from '../../protocol/mail/payload.ts'
import { withTiers } from '../../protocol/proof/effect.ts'
import type { Store } from '../store/open.ts'
import { paymentOf } from '../store/payments.ts'
import { markQuoteShown, quoteOf } from '../store/quotes.ts'
import type { Interaction, Message, Threads } from '../store/threads.ts'
import { keysOfKinds } from '../store/transcripts.ts'
import { isRequester } from '../tasks/standing.ts'
import type { Waiting } from './waiting.ts'

const ANSWERED = new Set(['open', 'end_proposed', 'ended', 'declined', 'failed', 'expired'])

type Patience = { seconds: number; signal: AbortSignal; pay: boolean }

export class GivenTasks {
  readonly #store: Store
  readonly #threads: Threads
  readonly #waiting: Waiting
  readonly #now: () => number

  constructor(parts: { store: Store; threads: Threads; waiting: Waiting; now: () => number }) {
    this.#store = parts.store
    this.#threads = parts.threads
    this.#waiting = parts.waiting
    this.#now = parts.now
  }

  /** The id of a task once it is answered or the time is over; where its price was paid, that of the one that goes on. */
  async answered(id: string, { seconds, signal, pay }: Patience): Promise<string> {
    if (seconds === 0) return id
    const until = this.#now() + seconds * 1000
    const quoteAt = (one: Interaction) => (pay ? quoteOf(this.#store, one.key) : undefined)
    const isJudged = (one: Interaction) => {
      const quote = quoteAt(one)
      // an answer without a price leaves it awaited for ever
      return quote?.state !== 'open' || quote.reason !== null
    }
    await this.#waiting.until(id, seconds, signal, one => ANSWERED.has(one.state) && isJudged(one))
    const asked = this.#threads.findById(id)
    const paidAs = asked && quoteAt(asked)?.paidAs
    if (!paidAs) return id
    const paid = this.#threads.byKey(paidAs).id
    const left = (until - this.#now()) / 1000
    const isSettled = (one: Interaction) => !isUnjudged(this.#store, one)
    if (left > 0)
      await this.#waiting.until(paid, left, signal, one => ANSWERED.has(one.state) && isSettled(one))
    return paid
  }

  /** The message that gave it. */
  first(interaction: Interaction): Message | undefined {
    return this.#threads.messages(interaction.key, 0, 1)[0]
  }

  /** A person reads what it costs; where that cannot be written down, they are asked again. */
  notePriceShown({ key }: Interaction): void {
    this.#store.attempt(() => markQuoteShown(this.#store, key))
  }

  /** The effect of a capability call, once it is there. */
  effectOf(interaction: Interaction): unknown {
    const last = keysOfKinds(this.#store, interaction.key, [kinds.result, kinds.quote]).at(-1)
    if (last === undefined || !isRequester(interaction)) return undefined
    const result = this.#threads.message(last)
    const decoded = decodePayload(result.kind, result.payload)
    return 'document' in decoded.payload
      ? withTiers(JSON.parse(Buffer.from(decoded.payload.document).toString('utf8')))
      : undefined
  }
}

/** Receipts of its payment came with the answer, and what they prove is not known yet. */
function isUnjudged(store: Store, { key }: Interaction): boolean {
  const row = paymentOf(store, key)
  if (row === undefined || (row.state !== 'authorized' && row.state !== 'held')) return false
  return row.endReceipt !== null || (row.state === 'authorized' && row.heldReceipt !== null)
}
