/**
 * What a requester does with prices: pays those that its rules or a person allow, by a new task with an authorization for
 * it, and judges the hub's receipts that come with the answer.
 */
import { cidText, parseCid } from '../../protocol/crypto/hash.ts'
import { fromBase64url } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import { kinds } from '../../protocol/mail/payload.ts'
import {
  AUTHORIZATION_LIFE_MAX_MS,
  Authorization,
  networkOf,
  PAY_SALT_BYTES,
  purposeOf,
  type SettlementKind,
  settlementKinds,
  transactionOf,
} from '../../protocol/proof/payment.ts'
import { quoteText, TASK } from '../../protocol/proof/quote.ts'
import type { Context } from '../context.ts'
import { isOwnFailure } from '../hubs/failures.ts'
import type { HubClient } from '../hubs/hub.ts'
import { attemptEach, Loop } from '../platform/loop.ts'
import { refuse } from '../refusal.ts'
import { alarmOf } from '../store/hub-accounts.ts'
import { openNetworksOf, unjudgedPayments } from '../store/open-payments.ts'
import { addPayment, dropReceipts, type PaymentRow, reopenUnprovenOut } from '../store/payments.ts'
import { freshQuotes, markQuotePaid, type QuoteRow, quoteOf, sayWhyUnpaid } from '../store/quotes.ts'
import { ownReason } from '../store/reasons.ts'
import type { Interaction } from '../store/threads.ts'
import type { Accounts } from './accounts.ts'
import { type GivenTask, taskAsGiven } from './as-given.ts'
import { missingSince } from './lost-orders.ts'
import type { LostPayments } from './lost-payments.ts'
import { maySign } from './may-sign.ts'
import type { PaymentParts } from './parts.ts'
import { takenNetworks } from './refunds.ts'
import { whyNotPaid } from './rules.ts'

const ROUND_MS = 3_600_000
/** A hold whose task is over is asked about soon, and then ever less often. */
const ENDS_FIRST_MS = 5_000
const AT_ONCE_MAX = 64
const FRESH_MAX = 4096
const ASK_MS = 60_000
const NONCE_BYTES = 16

type Needs = Pick<
  Context,
  | 'identity'
  | 'store'
  | 'chain'
  | 'threads'
  | 'hub'
  | 'settings'
  | 'events'
  | 'wakers'
  | 'log'
  | 'random'
  | 'hubNow'
  | 'timers'
  | 'timings'
>

/** A task for somebody, with what is given to pay for it; runs inside a transaction. */
export type Commit = (
  task: GivenTask,
  pay: (task: Interaction) => { paySalt: Uint8Array; authorization: Uint8Array },
) => Interaction

export class Payer {
  readonly #ctx: Needs
  readonly #parts: PaymentParts
  readonly #commit: Commit
  readonly #accounts: Accounts
  readonly #loop: Loop
  /** Payments whose end was open at the last turn, and the pause that followed it. */
  #open = 0
  #pauseMs = ROUND_MS
  #hasReopened = false
  /** Pause before the home is asked once more what lost copies signed. */
  #lostPauseMs = ENDS_FIRST_MS

  constructor(ctx: Needs, parts: PaymentParts, { commit, accounts }: { commit: Commit; accounts: Accounts }) {
    this.#parts = parts
    this.#ctx = ctx
    this.#commit = commit
    this.#accounts = accounts
    this.#loop = new Loop({
      name: 'payments out',
      waker: ctx.wakers.spending,
      log: ctx.log,
      restFirstMs: ctx.timings.backoffFirstMs,
      mayRun: () => maySign(ctx.identity, ctx.hub),
      turn: () => this.#turn(),
    })
  }

  start(): void {
    this.#loop.start()
  }

  async stop(): Promise<void> {
    await this.#loop.stop()
  }

  /** Pays what a task of ours was quoted, on the word of a person; the task that was delegated anew for it. */
  pay(interaction: Interaction, { unheld = false, again = false } = {}): Interaction {
    const { store } = this.#ctx
    return store.transaction(() => {
      const quote = quoteOf(store, interaction.key)
      if (quote?.state !== 'open')
        return refuse('wrong_state', 'this task waits for no payment', `svc thread ${interaction.id}`)
      if (quote.holdSeconds === null && !unheld)
        return refuse(
          'wrong_state',
          'this price is paid at once and without a hold: nothing of it comes back, whatever the answer is',
          `svc approve ${interaction.id} --unheld`,
        )
      const home = this.#home(quote)
      if (typeof home === 'string') return refuse('no_credits', home)
      if (!again) this.#parts.lost.requireUnpaid(quote, interaction)
      return this.#pay(quote, interaction, { home, by: 'person' })
    }, 'node.pay')
  }

  /** Before a person pays a price on a node that was restored: its hub is asked what lost copies have paid. */
  async askForLost({ key }: Pick<Interaction, 'key'>, signal: AbortSignal): Promise<void> {
    const { store, hub } = this.#ctx
    const isOpen = quoteOf(store, key)?.state === 'open'
    if (isOpen && hub.home !== undefined && missingSince(store, this.#ctx.hubNow()) !== undefined)
      await this.#parts.lostQuestions.ask(hub.home, signal)
  }

  /** Everything that is due now, once, and what the hubs say to it. */
  look(): Promise<void> {
    return this.#loop.once()
  }

  /** Prices and receipts are judged in the turn; hubs are asked beside it, so that one that is silent holds up nothing. */
  #turn(): number {
    const { store } = this.#ctx
    if (!this.#hasReopened) reopenUnprovenOut(store)
    this.#hasReopened = true
    const receipts = Map.groupBy(unjudgedPayments(store, AT_ONCE_MAX), ({ network }) => network)
    for (const [network, rows] of receipts)
      this.#loop.followAlone(`receipts of ${network}`, () => this.#noteEach(rows))
    for (const network of openNetworks(this.#ctx))
      this.#loop.followAlone(network, () => this.#askForReceipts(network))
    const lostAgainMs = this.#askForLost()
    const isDue = (quote: QuoteRow) => !isWaiting(this.#ctx, this.#parts.lost, quote)
    const fresh = freshQuotes(store, FRESH_MAX).filter(isDue).slice(0, AT_ONCE_MAX)
    attemptEach(fresh, quote => this.#judge(quote))
    const open = this.#parts.unsettled.count()
    const isNew = open > this.#open
    this.#pauseMs = open === 0 ? ROUND_MS : isNew ? ENDS_FIRST_MS : Math.min(2 * this.#pauseMs, ROUND_MS)
    this.#open = open
    return Math.min(this.#pauseMs, lostAgainMs)
  }

  /** The home is asked soon after a restore what copies that are lost have signed; when the next look is due. */
  #askForLost(): number {
    const { home } = this.#ctx.hub
    const waitMs = home === undefined ? undefined : this.#parts.lostQuestions.dueInMs(home.identity.aid)
    if (home === undefined || waitMs === undefined || waitMs > 0) {
      this.#lostPauseMs = ENDS_FIRST_MS
      return waitMs ?? ROUND_MS
    }
    const signal = AbortSignal.any([this.#loop.signal, this.#ctx.timers.deadline(ASK_MS)])
    this.#loop.followAlone('orders of lost copies', () =>
      this.#parts.lostQuestions.ask(home, signal).catch(error => this.#noteFailed(error)),
    )
    const pauseMs = this.#lostPauseMs
    this.#lostPauseMs = Math.min(2 * pauseMs, ROUND_MS)
    return pauseMs
  }

  async #noteEach(rows: readonly PaymentRow[]): Promise<void> {
    for (const row of rows) await this.#note(row).catch(error => this.#noteFailed(error))
  }

  async #askForReceipts(network: string): Promise<void> {
    const signal = AbortSignal.any([this.#loop.signal, this.#ctx.timers.deadline(ASK_MS)])
    try {
      const hub = await this.#accounts.accountOf(network)
      if (hub === undefined) return
      await this.#parts.takenRefunds.settle(hub, signal)
      await this.#parts.silent.ask(hub, signal)
      await this.#parts.unsettled.ask(hub, signal)
    } catch (error) {
      this.#noteFailed(error)
    }
  }

  /** A hub that gave no answer is asked at the next turn. */
  #noteFailed(error: unknown): void {
    if (isOwnFailure(error)) throw error
    this.#ctx.log.warn({ err: error }, 'the hub was not asked about payments')
  }

  /** Pays a price that nobody has to be asked about; else says what a person has to decide. */
  #judge(quote: QuoteRow): void {
    const { store, threads, settings, hubNow, events } = this.#ctx
    store.transaction(() => {
      const interaction = threads.byKey(quote.interaction)
      const home = this.#home(quote)
      const rules = { spend: settings.current.spend, nowMs: hubNow(), payee: interaction.peer }
      const why =
        typeof home === 'string' ? home : whyNotPaid({ store, lost: this.#parts.lost }, quote, rules)
      if (why === undefined)
        this.#pay(quote, interaction, { home: home as HubClient, by: quote.orderedBy ?? 'node' })
      else sayWhyUnpaid(store, quote.interaction, why)
      store.afterCommit(() => events.emit('message', { interaction_id: interaction.id, kind: kinds.quote }))
    }, 'node.pay')
  }

  /** The hub in whose credits a price is; a sentence where it is none of ours. */
  #home({ network }: QuoteRow): HubClient | string {
    const { home } = this.#ctx.hub
    if (home === undefined) return 'this node is registered at no hub, so it has no credits'
    const alarm = alarmOf(this.#ctx.store, home.identity.aid)
    if (alarm !== undefined) return `nothing is paid in credits of this hub: ${alarm}`
    return network === networkOf(home.identity.aid)
      ? home
      : `the price is in credits of another hub, ${network}; this node has none there`
  }

  #pay(
    quote: QuoteRow,
    interaction: Interaction,
    { home, by }: { home: HubClient; by: 'person' | 'agent' | 'node' },
  ): Interaction {
    const { store, threads } = this.#ctx
    const task = taskAsGiven(threads, interaction)
    const network = networkOf(home.identity.aid)
    const paying = this.#commit(task, created => this.#authorize(created, quote, { network, by }))
    markQuotePaid(store, interaction.key, paying.key)
    const what = interaction.capability ?? TASK
    const price = quoteText({ ...priceIn(quote), provider: interaction.peer, what })
    threads.update(interaction, ownReason(`${price}; it goes on as ${paying.id}, with a payment`))
    return paying
  }

  #authorize(
    task: Interaction,
    quote: QuoteRow,
    { network, by }: { network: string; by: 'person' | 'agent' | 'node' },
  ) {
    const { identity, store, chain, random, hubNow } = this.#ctx
    const { amount } = priceIn(quote)
    const paySalt = random(PAY_SALT_BYTES)
    const notBefore = hubNow()
    const notAfter = notBefore + AUTHORIZATION_LIFE_MAX_MS
    const holdUntil = quote.holdSeconds === null ? undefined : notAfter + quote.holdSeconds * 1000
    const authorization = Authorization.sign(identity.seed, {
      v: 1,
      payer: identity.aid,
      payerKelSeq: identity.log.seq,
      payTo: task.peer,
      amount,
      network,
      nonce: random(NONCE_BYTES),
      notBefore,
      notAfter,
      purpose: purposeOf(paySalt, fromBase64url(task.id), parseCid(task.requestCid)),
      ...present({ holdUntil }),
    })
    const encoded = Authorization.encode(authorization)
    const payment = transactionOf(authorization)
    addPayment(store, {
      interaction: task.key,
      side: 'payer',
      payment,
      amount,
      network,
      authorization: encoded,
      salt: paySalt,
      at: notBefore,
      holdUntil: holdUntil ?? null,
      orderedBy: by,
      starts: quote.holdSeconds === null ? null : (quote.starts ?? amount),
    })
    chain.append('svc.payment.authorized', {
      interaction_id: task.id,
      authorization_id: cidText(payment),
      pay_to: task.peer,
      amount,
      network,
    })
    return { paySalt, authorization: encoded }
  }

  /** Judges the receipts that came, and records what they prove: one that proves nothing changes nothing, and is dropped. */
  async #note(row: PaymentRow): Promise<void> {
    const { held, paid, captured, returned } = settlementKinds
    const { heldReceipt, endReceipt } = row
    if (row.state === 'authorized' && heldReceipt !== null) {
      const proven = await this.#proves(row, heldReceipt, [held, paid])
      if (proven === false) this.#drop(row, 'held')
      if (proven === true) this.#parts.proven.noteTaken(row, heldReceipt)
    }
    if (endReceipt === null) return
    const proven = await this.#proves(row, endReceipt, [captured, returned])
    if (proven === false) this.#drop(row, 'end')
    if (proven === true) this.#parts.proven.noteEnd(row, endReceipt)
  }

  /** Undefined where its hub is not reached, so that nobody can say. */
  async #proves(
    row: PaymentRow,
    receipt: Uint8Array,
    kinds: readonly SettlementKind[],
  ): Promise<boolean | undefined> {
    const hub = await this.#accounts.accountOf(row.network)
    if (hub === undefined) return undefined
    const authorization = Authorization.decode(row.authorization)
    const fault = await this.#parts.receipts.faultOf(hub, receipt, { authorization, kinds })
    if (fault !== undefined)
      this.#ctx.log.error({ fault }, 'what the provider sent as a receipt of the payment does not hold')
    return fault === undefined
  }

  #drop({ interaction }: PaymentRow, which: 'held' | 'end'): void {
    const { store, threads, events } = this.#ctx
    store.transaction(() => {
      dropReceipts(store, interaction, which)
      const { id: interaction_id, peer } = threads.byKey(interaction)
      store.afterCommit(() => events.emit('message', { interaction_id, peer }))
    }, 'node.payment')
  }
}

/** Networks of which payments that went out, or what came back of them, are open. */
function openNetworks(ctx: Pick<Needs, 'store' | 'threads'>): string[] {
  return [...new Set([...openNetworksOf(ctx.store), ...takenNetworks(ctx.store)])]
}

/** Whether a price in credits of the home cannot be judged yet, since nobody has said what lost copies paid. */
function isWaiting({ hub }: Pick<Needs, 'hub'>, lost: LostPayments, quote: QuoteRow): boolean {
  const { home } = hub
  if (home === undefined || quote.network !== networkOf(home.identity.aid)) return false
  const doubt = lost.doubtOf(quote)
  return doubt !== undefined && doubt.state !== 'paid'
}

function priceIn({ amount, network, holdSeconds, settleSeconds }: QuoteRow) {
  if (amount === null || network === null || settleSeconds === null)
    throw new Error('this task has no price yet')
  return { amount, network, holdSeconds: holdSeconds ?? undefined, settleSeconds }
}
