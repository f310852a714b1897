/**
 * Credits (hub API §4.4, objects: payment): who has how many, payments from one agent to another, and
 * redemptions. Each transfer is posted once for ever, and every later request for it gets the stored receipt.
 */
import { labelled } from '../../../protocol/crypto/hash.ts'
import { present } from '../../../protocol/encoding/present.ts'
import { keyAt } from '../../../protocol/identity/kel.ts'
import { Authorization, settlementKinds } from '../../../protocol/proof/payment.ts'
import type { Posting, PostResult } from '../../store/ledger-port.ts'
import type { JudgedBy } from '../../store/port.ts'
import type { KeptVoucher } from '../../store/voucher-port.ts'
import type { Agent, Agents } from '../agents.ts'
import type { HubContext } from '../context.ts'
import { Refusal } from '../refusal.ts'
import type { SupplyChain } from '../supply/chain.ts'
import type { HoldClock } from './hold-clock.ts'
import { Holds } from './holds.ts'
import { agentAccount, heldAccount, peerAccount, RETIRED } from './names.ts'
import { checkPosted, crossingStopped, PaymentRefused } from './refused.ts'
import { kindOf, type Settled, Settlements, settledOf } from './settlements.ts'
import { checkReference, checkRules, misfit, type Payment, type PaymentRequest, paymentOf } from './terms.ts'
import { checkTimes } from './valid-times.ts'

const REDEEMED = settlementKinds.redeemed

/** What the payer gets for a payment, kept with it. */
type VoucherOf = (settled: Settled, paid: Authorization['body']) => KeptVoucher
type Parts = { agents: Agents; supply: SupplyChain; clock: HoldClock }
export type Balance = { balance: number; held: number }

export class Credits {
  readonly #context: HubContext
  readonly #agents: Agents
  readonly #supply: SupplyChain
  readonly #settlements: Settlements
  readonly holds: Holds
  /** The books do not agree: nothing is paid until they do. */
  stopped = false
  /** They were recounted since the start; nothing is paid before. */
  recounted: Promise<void> = Promise.resolve()

  constructor(context: HubContext, { agents, supply, clock }: Parts) {
    this.#context = context
    this.#agents = agents
    this.#supply = supply
    this.#settlements = new Settlements(context, supply)
    this.holds = new Holds(context, { agents, settlements: this.#settlements, clock })
  }

  /** What an agent has; what has lapsed of its holds counts as its own again. */
  async balance(aid: string): Promise<Balance> {
    const { store } = this.#context
    const { balance, held, lapsed } = await store.holdings(aid, this.holds.clock.now())
    return { balance: balance + lapsed, held: held - lapsed }
  }

  /** Whether a payment would be made; throws why not. Nothing changes. */
  async verify(request: PaymentRequest): Promise<Payment> {
    const payment = paymentOf(request, this.#context.identity.aid)
    if ((await this.#context.store.transfer(payment.transaction)) !== undefined)
      throw new PaymentRefused('duplicate_settlement')
    await this.#judge(request, payment)
    const { body } = payment.authorization
    if ((await this.balance(body.payer)).balance < body.amount) throw new PaymentRefused('insufficient_funds')
    return payment
  }

  /**
   * Makes a payment, or tells again what became of it. `peer`: for an agent of that hub, which vouches for it and is owed
   * the amount. `voucherOf`: of one that is made now.
   */
  async settle(request: PaymentRequest, peer?: string, voucherOf?: VoucherOf): Promise<Settled> {
    await this.checkOpen()
    const payment = paymentOf(request, this.#context.identity.aid)
    const stored = await this.#stored(payment.transaction)
    if (stored?.body.kind === REDEEMED) throw misfit('this authorization was redeemed')
    if (stored !== undefined) return ownedBy(peer, stored)
    await this.#checkCrossing(peer)
    const { body } = payment.authorization
    const { posted, settled } = await this.#agents.judged(async () => {
      const { refundsMax, by } = await this.#judge(request, payment, peer)
      await this.holds.lapseAll(body.payer)
      const settled = this.#settlements.sign({
        transaction: payment.transaction,
        kind: kindOf(body),
        payer: body.payer,
        payee: body.payTo,
        amount: body.amount,
        holdUntil: body.holdUntil,
        peer,
      })
      const posted = await this.#context.store.post({
        ...postingOf(payment, settled, peer),
        ...present({ refundsMax }),
        about: body.refundOf,
        voucher: voucherOf?.(settled, body),
        judgedBy: by,
      })
      return { outcome: posted.outcome, by, posted, settled }
    })
    return ownedBy(peer, settledBy(posted, settled))
  }

  /** Takes credits out of the hub, for a reference that their owner signed. */
  async redeem(request: PaymentRequest & { reference: string }): Promise<Settled> {
    await this.checkOpen()
    const payment = paymentOf(request, this.#context.identity.aid)
    const { body } = payment.authorization
    const stored = await this.#stored(payment.transaction)
    if (stored !== undefined) {
      checkReference(request.reference, body)
      if (stored.body.kind !== REDEEMED) throw misfit('this authorization was settled as a payment')
      return stored
    }
    const { posted, settled } = await this.#agents.judged(async () => {
      const { by } = await this.#judge(request, payment)
      await this.holds.lapseAll(body.payer)
      return { ...(await this.#retire(payment, request.reference, by)), by }
    })
    if (posted === undefined || settled === undefined) throw new Refusal('supplyHalted')
    return settledBy(posted, settled)
  }

  /** Posts a redemption with its record of the supply chain; nothing was posted where the chain stands still. */
  async #retire({ authorization, transaction }: Payment, reference: string, judgedBy: readonly JudgedBy[]) {
    const { payer, amount } = authorization.body
    const { identity, store } = this.#context
    let settled: Settled | undefined
    const change = { aid: payer, amount, reason: 'redemption' as const }
    const posted = await this.#supply.withChange('retired', change, supply => {
      settled = this.#settlements.sign({ transaction, kind: 4, payer, payee: identity.aid, amount })
      return store.post({
        id: transaction,
        reason: 'redemption',
        atMs: settled.body.settledAt,
        amount,
        moves: [{ from: agentAccount(payer), to: RETIRED, amount }],
        receipt: settled.bytes,
        authorization: Authorization.encode(authorization),
        reference,
        supply,
        judgedBy,
      })
    })
    return { outcome: posted.outcome, posted: posted.outcome === 'halted' ? undefined : posted, settled }
  }

  /** Carries out a payee's order about a hold. */
  async end(order: Uint8Array, releases: boolean): Promise<Settled> {
    await this.checkOpen()
    return await this.holds.end(order, releases)
  }

  /** The same for a payee of a peer, which has checked who ordered it; tells how the hold has ended, whatever was ordered. */
  async endFor(peer: string, order: Uint8Array): Promise<Settled> {
    await this.checkOpen()
    return await this.holds.endFor(peer, order)
  }

  /** Throws while nothing may be paid, since the books do not agree. */
  async checkOpen(): Promise<void> {
    await this.recounted
    if (this.stopped) throw new Refusal('overloaded')
  }

  /** Nothing new goes to a hub that says something else of what this one owes it. */
  async #checkCrossing(peer: string | undefined): Promise<void> {
    if (peer === undefined) return
    const { stoppedMs } = await this.#context.store.clearing(peer)
    if (stoppedMs !== undefined) throw crossingStopped()
  }

  async #stored(transaction: Uint8Array): Promise<Settled | undefined> {
    const transfer = await this.#context.store.transfer(transaction)
    return transfer && settledOf(transfer)
  }

  /** Everything but the funds: who pays, when, to whom, under which rules, and last the signature. */
  async #judge(
    request: PaymentRequest,
    { authorization }: Payment,
    peer?: string,
  ): Promise<{ refundsMax: number | undefined; by: JudgedBy[] }> {
    const { body } = authorization
    const payer = await this.#agents.find(body.payer)
    if (payer === undefined || payer.log.deactivated) throw new PaymentRefused('unknown_payer')
    await checkTimes(this.#context, body)
    const payee = await this.#checkPayee(request, body, peer)
    checkRules(request, body, this.#context.now())
    const refundsMax = body.refundOf && (await this.#refundable(body.refundOf, body))
    await this.#checkSignature(payer, authorization)
    return { refundsMax, by: [payer, ...payee].map(({ row: { aid, version } }) => ({ aid, version })) }
  }

  /**
   * Payments go to an agent registered here now; refunds to any account, redemptions to the hub alone, which is no agent.
   * Whom a peer pays is known to that peer, also where it is the payer, who takes its credits along.
   */
  async #checkPayee(
    { reference }: PaymentRequest,
    { payer, payTo, refundOf }: Authorization['body'],
    peer: string | undefined,
  ): Promise<Agent[]> {
    const toHub = payTo === this.#context.identity.aid
    if (toHub !== (reference !== undefined))
      throw misfit(toHub ? 'the hub itself is paid by a redemption' : 'a redemption is paid to the hub')
    if (toHub) return []
    if (peer !== undefined) {
      if (payer !== payTo && refundOf === undefined) await this.#checkElsewhere(payTo)
      return []
    }
    if (payer === payTo) throw misfit('payer and payee are one')
    const payee = await this.#agents.find(payTo)
    if (payee === undefined || (refundOf === undefined && !payee.row.registered))
      throw misfit('the payee is not registered here')
    return [payee]
  }

  /** Nobody else is paid for an agent that lives here: a peer that has its payment could take that for itself. */
  async #checkElsewhere(aid: string): Promise<void> {
    const payee = await this.#agents.find(aid)
    if (payee?.row.registered === true && payee.log.home === this.#context.identity.aid)
      throw misfit('the payee lives at this hub')
  }

  /** What of a payment may be given back in all: what was paid, or captured of what was held. */
  async #refundable(transaction: Uint8Array, { payer, payTo }: Authorization['body']): Promise<number> {
    const { store } = this.#context
    const transfer = await store.transfer(transaction)
    // a hold at a peer posts nothing here until it has ended
    const paid = settledOf(transfer ?? { receipt: (await store.peerPayment(transaction))?.receipt })
    if (paid === undefined || transfer?.reason === 'redemption')
      throw misfit('no payment has this transaction')
    if (transfer?.reason === 'refund') throw misfit('a refund is not given back')
    if (paid.body.payer !== payTo || paid.body.payee !== payer)
      throw misfit('the payment was made between others')
    if (paid.body.kind === 0) return paid.body.amount
    const captured = await this.holds.captured(transaction)
    if (captured === 0) throw misfit('nothing was captured of this hold')
    return captured
  }

  async #checkSignature({ log }: Agent, { body, bodyBytes, signature }: Authorization): Promise<void> {
    const key = body.payerKelSeq === log.seq ? keyAt(log, body.payerKelSeq) : undefined
    const message = labelled(Authorization.label, bodyBytes)
    const holds = key !== undefined && (await this.#context.verifier.verify(key, message, signature))
    if (!holds) throw new PaymentRefused('invalid_signature')
  }
}

/** The transfer of a payment: to its payee, or into a hold. */
function postingOf({ authorization, transaction }: Payment, settled: Settled, peer?: string): Posting {
  const { payer, payTo, amount, holdUntil, refundOf } = authorization.body
  const from = agentAccount(payer)
  const payee = agentAccount(payTo)
  const holdPeer = peer === undefined ? undefined : peerAccount(peer)
  // who takes its credits along sees the hub to which they went
  const parties = payer === payTo ? undefined : { payer: from, payee }
  const shared = {
    id: transaction,
    atMs: settled.body.settledAt,
    amount,
    receipt: settled.bytes,
    authorization: Authorization.encode(authorization),
  }
  if (holdUntil === undefined)
    return {
      ...shared,
      reason: refundOf === undefined ? 'payment' : 'refund',
      moves: [{ from, to: holdPeer ?? payee, amount }],
      parties,
    }
  const moves = [{ from, to: heldAccount(transaction), amount }]
  return {
    ...shared,
    reason: 'hold',
    moves,
    parties: { payer: from, payee },
    holdUntilMs: holdUntil,
    holdPeer,
  }
}

/** A peer is told of a payment only where it is owed the amount. */
function ownedBy(peer: string | undefined, settled: Settled): Settled {
  if (peer !== undefined && settled.body.peer !== peer) throw new PaymentRefused('duplicate_settlement')
  return settled
}

function settledBy(result: PostResult, settled: Settled): Settled {
  if (result.outcome === 'held') return settledOf(result.transfer) ?? settled
  checkPosted(result)
  return settled
}
