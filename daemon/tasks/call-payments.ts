/** What a call or a task in words costs before it is answered, and its payment at the hub. */
import { buildEffect } from '../../protocol/proof/effect.ts'
import { Authorization } from '../../protocol/proof/payment.ts'
import { type Quote, TASK } from '../../protocol/proof/quote.ts'
import type { CurrentHub } from '../hubs/current.ts'
import type { Identity } from '../identity/identity.ts'
import type { PaidAnswer, Payee } from '../payments/payee.ts'
import { notHeldEffect, notTakenEffect, offerOf, quoteFor, whyNotTaken } from '../payments/price-check.ts'
import type { TakenNetworks } from '../payments/taken-networks.ts'
import type { Store } from '../store/open.ts'
import { type PaymentRow, paymentOf } from '../store/payments.ts'
import { ANSWER_DEADLINE_MS, type Interaction, type Threads } from '../store/threads.ts'
import type { Serving } from './call-work.ts'

type PaymentParts = {
  identity: Identity
  hub: CurrentHub
  store: Store
  threads: Threads
  modules: Serving
  taken: TakenNetworks
  /** Undefined in a build that is paid by nobody. */
  payee: Payee | undefined
}

export class CallPayments {
  readonly #parts: PaymentParts

  constructor(parts: PaymentParts) {
    this.#parts = parts
  }

  isPaidFor({ key }: Interaction): boolean {
    return paymentOf(this.#parts.store, key) !== undefined
  }

  /** Whether the payment of a task in words is held; its answer where it is not, undefined where nobody can say yet. */
  async heldForWords(interaction: Interaction, price: number): Promise<'held' | PaidAnswer | undefined> {
    const what = interaction.capability ?? TASK
    const asked = await this.#quote(interaction, { what, amount: price, seconds: ANSWER_DEADLINE_MS / 1000 })
    if ('effect' in asked) return asked
    const held = asked.quote && (await this.#parts.payee?.held(interaction, asked.quote))
    return held === undefined || 'effect' in held ? held : 'held'
  }

  /** The answer of a call that costs something, its work done once the payment is held; undefined where nobody can say yet. */
  async paid(
    interaction: Interaction,
    amount: number | undefined,
    work: () => Promise<PaidAnswer | undefined>,
  ): Promise<PaidAnswer | undefined> {
    const { modules, payee } = this.#parts
    const what = interaction.capability ?? ''
    const seconds = (modules.find(what)?.timeoutMs ?? 0) / 1000
    const asked = await this.#quote(interaction, { what, amount, seconds })
    if ('effect' in asked) return asked
    return asked.quote && (await payee?.paid(interaction, asked.quote, work))
  }

  /** Keeps what is told once the credits of a call have gone back; false where none were held. */
  keep(interaction: Interaction, answer: PaidAnswer): boolean {
    return this.#parts.payee?.keep(interaction, answer) === true
  }

  /** What is asked for work of so many seconds, where there is a hub; what is answered where nothing can be paid. */
  async #quote(
    interaction: Interaction,
    { what, amount, seconds }: { what: string; amount: number | undefined; seconds: number },
  ): Promise<PaidAnswer | { quote: Quote | undefined }> {
    const { identity, hub, store, modules, payee } = this.#parts
    const { home } = hub
    if (payee === undefined) {
      const message = `${what} costs ${amount ?? 0} credits, and this build has no payment support`
      return { effect: buildEffect({ status: 'UNAVAILABLE', message }) }
    }
    if (home === undefined) return { quote: undefined }
    if (!home.credits.can.holds) return { effect: notHeldEffect }
    const provider = identity.aid
    const paid = paymentOf(store, interaction.key)
    const why = paid === undefined ? whyNotTaken(store, home.identity.aid) : undefined
    if (why !== undefined) return { effect: notTakenEffect(why) }
    const starts = paid === undefined ? modules.startsOf(what) : (paid.starts ?? undefined)
    const terms = { what, amount: paid?.amount ?? amount ?? 1, seconds, starts }
    const network = await this.#networkFor(interaction, paid)
    return { quote: network === undefined ? undefined : quoteFor({ provider, network, ...terms }) }
  }

  /** In whose credits it is paid; undefined while the hub does not say whether it may be those of another one. */
  async #networkFor(interaction: Interaction, paid: PaymentRow | undefined): Promise<string | undefined> {
    if (paid !== undefined) return Authorization.decode(paid.authorization).body.network
    const offered = offerOf(this.#parts.threads, interaction)?.authorization.body.network
    return await this.#parts.taken.forPayer(interaction.peer, offered)
  }
}
