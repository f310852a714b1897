/** Payments of tasks: a task that has a price is delegated anew, with an authorization for it. */
import { parseCid } from '../../protocol/crypto/hash.ts'
import { fromBase64url } from '../../protocol/encoding/bytes.ts'
import { Authorization, PAY_SALT_BYTES, purposeOf, transactionOf } from '../../protocol/proof/payment.ts'
import { quoteText, TASK } from '../../protocol/proof/quote.ts'
import type { Store } from '../store/open.ts'
import { addPayment } from '../store/payments.ts'
import { markQuotePaid, type QuoteRow } from '../store/quotes.ts'
import { ownReason } from '../store/reasons.ts'
import type { Interaction, Threads } from '../store/threads.ts'
import { type GivenTask, taskAsGiven } from './as-given.ts'
import type { OtherHub } from './other-hub.ts'
import type { OwnRecords } from './own-records.ts'
import type { PaymentSigner } from './signing.ts'

/** A task for somebody, with what is given to pay for it; runs inside a transaction. */
export type Commit = (
  task: GivenTask,
  pay: (task: Interaction) => { paySalt: Uint8Array; authorization: Uint8Array },
) => Interaction

/** Who said that a price is paid: `node`, by its rules. */
type OrderedBy = 'person' | 'agent' | 'node'

type PaymentMakers = {
  store: Store
  threads: Threads
  signer: PaymentSigner
  records: OwnRecords
  otherHub: OtherHub
  commit: Commit
  random: (length: number) => Uint8Array
}

export class TaskPayments {
  readonly #store: Store
  readonly #threads: Threads
  readonly #signer: PaymentSigner
  readonly #records: OwnRecords
  readonly #otherHub: OtherHub
  readonly #commit: Commit
  readonly #random: (length: number) => Uint8Array

  constructor({ store, threads, signer, records, otherHub, commit, random }: PaymentMakers) {
    this.#store = store
    this.#threads = threads
    this.#signer = signer
    this.#records = records
    this.#otherHub = otherHub
    this.#commit = commit
    this.#random = random
  }

  /** Pays the price of a task; the task that was delegated anew for it. Runs inside a transaction. */
  make(quote: QuoteRow, interaction: Interaction, by: OrderedBy): Interaction {
    const task = taskAsGiven(this.#threads, interaction)
    const paying = this.#commit(task, created => this.#authorize(created, quote, by))
    markQuotePaid(this.#store, interaction.key, paying.key)
    const what = interaction.capability ?? TASK
    const price = quoteText({ ...priceIn(quote), provider: interaction.peer, what })
    this.#threads.update(interaction, ownReason(`${price}; it goes on as ${paying.id}, with a payment`))
    return paying
  }

  #authorize(task: Interaction, quote: QuoteRow, by: OrderedBy) {
    const { amount, network, holdSeconds } = priceIn(quote)
    const paySalt = this.#random(PAY_SALT_BYTES)
    const purpose = purposeOf(paySalt, fromBase64url(task.id), parseCid(task.requestCid))
    const authorization = this.#signer.sign({ payTo: task.peer, amount, network, purpose, holdSeconds })
    const encoded = Authorization.encode(authorization)
    const { notBefore, holdUntil } = authorization.body
    addPayment(this.#store, {
      interaction: task.key,
      side: 'payer',
      payment: transactionOf(authorization),
      amount,
      network,
      authorization: encoded,
      salt: paySalt,
      at: notBefore,
      holdUntil: holdUntil ?? null,
      orderedBy: by,
      starts: holdSeconds === undefined ? null : (quote.starts ?? amount),
      otherHub: this.#otherHub.of(task.peer) ?? null,
    })
    this.#records.authorized(task.id, authorization)
    return { paySalt, authorization: encoded }
  }
}

function priceIn({ amount, network, holdSeconds, settleSeconds }: QuoteRow) {
  if (amount === null || network === null || settleSeconds === null)
    throw new Error('this task has no price yet')
  return { amount, network, holdSeconds: holdSeconds ?? undefined, settleSeconds }
}
