/**
 * What a requester does with prices: pays those that its rules or a person allow, by a new task with an authorization for
 * it, and judges the hub's receipts that come with the answer.
 */
import { cidText, parseCid } from '../../protocol/crypto/hash.ts'
import { fromBase64url } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import type { Attachment } from '../../protocol/mail/message.ts'
import { decodePayload, kinds } from '../../protocol/mail/payload.ts'
import {
  AUTHORIZATION_LIFE_MAX_MS,
  Authorization,
  networkOf,
  PAY_SALT_BYTES,
  purposeOf,
  type SettlementKind,
  SettlementReceipt,
  settlementKinds,
  transactionOf,
} from '../../protocol/proof/payment.ts'
import { quoteText, TASK } from '../../protocol/proof/quote.ts'
import type { Context } from '../context.ts'
import type { HubClient } from '../hubs/hub.ts'
import { refuse } from '../refusal.ts'
import { alarmOf } from '../store/alarms.ts'
import {
  addPayment,
  freshQuotes,
  markEnded,
  markHeld,
  markQuotePaid,
  type PaymentRow,
  type QuoteRow,
  quoteOf,
  sayWhyUnpaid,
  unjudgedPayments,
} from '../store/payments.ts'
import type { Interaction } from '../store/threads.ts'
import { askForEnds, countOpenEnds } from './ends.ts'
import { maySign } from './may-sign.ts'
import { askForReceipts, faultOf } from './receipts.ts'
import { settleTaken } from './refunds.ts'
import { whyNotPaid } from './rules.ts'

const ROUND_MS = 3_600_000
/** A hold whose task is over is asked about soon, and then ever less often. */
const ENDS_FIRST_MS = 5_000
const AT_ONCE_MAX = 64
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
>

/** A task for somebody, with what is given to pay for it; runs inside a transaction. */
type Commit = (
  task: {
    peer: string
    document: Uint8Array
    text: string
    capability: string | null
    attachments: readonly Attachment[]
  },
  pay: (task: Interaction) => { paySalt: Uint8Array; authorization: Uint8Array },
) => Interaction

export class Payer {
  readonly #ctx: Needs
  readonly #commit: Commit
  readonly #lifetime = new AbortController()
  #round: Promise<void> | undefined

  constructor(ctx: Needs, commit: Commit) {
    this.#ctx = ctx
    this.#commit = commit
  }

  start(): void {
    this.#round = this.#rounds()
  }

  async stop(): Promise<void> {
    this.#lifetime.abort()
    this.#ctx.wakers.spending.wake()
    await this.#round
  }

  /** Pays what a task of ours was quoted, on the word of a person; the task that was delegated anew for it. */
  pay(interaction: Interaction): Interaction {
    const { store } = this.#ctx
    return store.transaction(() => {
      const quote = quoteOf(store, interaction.key)
      if (quote?.state !== 'open')
        return refuse('wrong_state', 'this task waits for no payment', `svc thread ${interaction.id}`)
      const home = this.#home(quote)
      if (typeof home === 'string') return refuse('no_credits', home)
      return this.#pay(quote, interaction, { home, by: 'person' })
    }, 'node.pay')
  }

  async #rounds(): Promise<void> {
    let before = 0
    let pauseMs = ROUND_MS
    while (!this.#lifetime.signal.aborted) {
      if (maySign(this.#ctx)) await this.#look()
      const open = countOpenEnds(this.#ctx)
      const isNew = open > before
      pauseMs = open === 0 ? ROUND_MS : isNew ? ENDS_FIRST_MS : Math.min(2 * pauseMs, ROUND_MS)
      before = open
      await this.#ctx.wakers.spending.sleep(pauseMs)
    }
  }

  async #look(): Promise<void> {
    const { store, log } = this.#ctx
    for (const quote of freshQuotes(store, AT_ONCE_MAX)) this.#judge(quote)
    for (const row of unjudgedPayments(store, AT_ONCE_MAX))
      await this.#note(row).catch(error => log.warn({ err: error }, 'a payment could not be judged'))
    await this.#askForReceipts().catch(error =>
      log.warn({ err: error }, 'the hub was not asked for receipts'),
    )
  }

  async #askForReceipts(): Promise<void> {
    const { home } = this.#ctx.hub
    if (home === undefined) return
    const signal = AbortSignal.any([this.#lifetime.signal, AbortSignal.timeout(ASK_MS)])
    await settleTaken(this.#ctx, home, signal)
    await askForReceipts(this.#ctx, home, signal)
    await askForEnds(this.#ctx, home, signal)
  }

  /** Pays a price that nobody has to be asked about; else says what a person has to decide. */
  #judge(quote: QuoteRow): void {
    const { store, threads, settings, hubNow, events } = this.#ctx
    store.transaction(() => {
      const interaction = threads.byKey(quote.interaction)
      const home = this.#home(quote)
      const rules = { spend: settings.current.spend, nowMs: hubNow(), payee: interaction.peer }
      const why = typeof home === 'string' ? home : whyNotPaid(store, quote, rules)
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
    const [first] = threads.messages(interaction.key, 0, 1)
    const message = threads.message(first?.key ?? 0)
    const asked = decodePayload(message.kind, message.payload)
    if (asked.kind !== kinds.delegate) throw new Error('the first message of a task is no delegation')
    const task = {
      peer: interaction.peer,
      document: asked.payload.document,
      text: message.text,
      capability: interaction.capability,
      attachments: threads.attachmentsOf(message.key),
    }
    const network = networkOf(home.identity.aid)
    const paying = this.#commit(task, created => this.#authorize(created, quote, { network, by }))
    markQuotePaid(store, interaction.key, paying.key)
    const what = interaction.capability ?? TASK
    const price = quoteText({ ...priceIn(quote), provider: interaction.peer, what })
    threads.update(interaction, { reason: `${price}; it goes on as ${paying.id}, with a payment` })
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

  /** Judges the receipts that came and records what they prove. */
  async #note(row: PaymentRow): Promise<void> {
    const { held, paid, captured, returned } = settlementKinds
    if (row.state === 'authorized' && row.heldReceipt !== null) {
      const verified = await this.#proves(row, row.heldReceipt, [held, paid])
      this.#record(row, row.heldReceipt, verified, () =>
        markHeld(this.#ctx.store, row.interaction, row.heldReceipt as Uint8Array),
      )
    }
    if (row.endReceipt === null) return
    const receipt = row.endReceipt
    const verified = await this.#proves(row, receipt, [captured, returned])
    const { kind, amount } = SettlementReceipt.decode(receipt).body
    const moved = kind === captured ? amount : row.amount - amount
    this.#record({ ...row, amount: moved }, receipt, verified, () =>
      markEnded(this.#ctx.store, row.interaction, { receipt, moved: verified ? moved : row.amount }),
    )
  }

  async #proves(row: PaymentRow, receipt: Uint8Array, kinds: readonly SettlementKind[]): Promise<boolean> {
    const { home } = this.#ctx.hub
    if (home === undefined) return false
    const authorization = Authorization.decode(row.authorization)
    const fault = await faultOf(this.#ctx, home, receipt, { authorization, kinds })
    if (fault !== undefined) this.#ctx.log.error({ fault }, 'the receipt of a payment does not hold')
    return fault === undefined
  }

  #record(row: PaymentRow, receipt: Uint8Array, verified: boolean, mark: () => void): void {
    const { store, threads, chain, events } = this.#ctx
    store.transaction(() => {
      const interaction = threads.byKey(row.interaction)
      const about = { interaction_id: interaction.id, peer: interaction.peer }
      store.afterCommit(() => events.emit('message', about))
      const held = { payee: interaction.peer, auth_id: cidText(row.payment), receipt }
      const proof: Partial<typeof held> = verified ? held : {}
      chain.append('svc.payment.settled', {
        interaction_id: interaction.id,
        transaction: cidText(row.payment),
        amount: row.amount,
        network: row.network,
        verified,
        ...proof,
      })
      mark()
    }, 'node.payment')
  }
}

function priceIn({ amount, network, holdSeconds, settleSeconds }: QuoteRow) {
  if (amount === null || network === null || settleSeconds === null)
    throw new Error('this task has no price yet')
  return { amount, network, holdSeconds: holdSeconds ?? undefined, settleSeconds }
}
