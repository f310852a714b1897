/**
 * Payments in the credits of a peer to an agent of this hub (credits: between hubs). Each is kept, and counted against
 * what the peer may owe, before the peer is asked. Only what the peer has signed makes or ends one; its refusal ends one
 * that it has not made.
 */
import { toHex } from '../../../protocol/encoding/bytes.ts'
import { present } from '../../../protocol/encoding/present.ts'
import {
  Authorization,
  type HoldOrder,
  hubOfNetwork,
  SettlementReceipt,
  settlementKinds,
} from '../../../protocol/proof/payment.ts'
import type { AskedPayment, PeerPayment } from '../../store/peer-payment-port.ts'
import type { Agents } from '../agents.ts'
import type { HubContext } from '../context.ts'
import { checkOrder, decodedOrder, type Holds } from '../ledger/holds.ts'
import { agentAccount, endId, peerAccount } from '../ledger/names.ts'
import {
  checkPosted,
  crossingStopped,
  isPaymentReason,
  PaymentPending,
  PaymentRefused,
} from '../ledger/refused.ts'
import { type Settled, type Settlements, settledOf } from '../ledger/settlements.ts'
import {
  checkRules,
  misfit,
  type Payment,
  type PaymentRequest,
  paymentOf,
  transactionIn,
} from '../ledger/terms.ts'
import { checkTimes } from '../ledger/valid-times.ts'
import { DAY_MS, HOUR_MS } from '../limits.ts'
import type { Buckets } from '../ports/rates.ts'
import { Refusal } from '../refusal.ts'
import { AGAIN, acrossOf, askedOf, endOf, openOf, type SettledAcross } from './asked-payments.ts'
import type { PeerCalls, PeerPaymentAnswer } from './calls.ts'
import { Doubtful } from './doubtful.ts'
import type { PeerReceipts } from './peer-receipts.ts'
import type { Peer } from './peers.ts'

const { paid, held, captured, returned } = settlementKinds
/** By then the peer can answer nothing but what it did, or that the time is over. */
export const AFTER_END_MS = 4 * 60_000
/** An order that got no answer is given again. */
const ORDER_AGAIN_MS = 10_000
/** Payments of one peer that may be open. */
const OPEN_MAX = 10_000
/** Of the calls of one peer, as far as this hub's own limit tells. */
const RATE_SHARE = 0.25

export type PeerPaymentParts = {
  agents: Agents
  calls: PeerCalls
  receipts: PeerReceipts
  settlements: Settlements
  holds: Holds
}

export class PeerPayments {
  readonly #context: HubContext
  readonly #parts: PeerPaymentParts
  /** Anybody may ask for a payment: what that costs a peer leaves room for the rest that it is asked. */
  readonly #rates: Buckets
  /** When the operator last heard that a peer does not say how a hold ended, monotonic. */
  readonly #told = new Map<string, number>()
  /** Questions under way, each about one payment. */
  readonly #asking = new Map<string, Promise<PeerPayment>>()

  constructor(context: HubContext, parts: PeerPaymentParts) {
    this.#context = context
    this.#parts = parts
    const { memory, limits } = context
    const { perSecond, burst } = limits.peerRate
    this.#rates = memory.rates.of('peer payments', {
      perSecond: perSecond * RATE_SHARE,
      burst: Math.max(1, Math.floor(burst * RATE_SHARE)),
    })
  }

  /** Peers in whose credits agents of this hub are paid; none with which the figures differ. */
  async peers(): Promise<Peer[]> {
    const { peers, store } = this.#context
    const may = peers.sealed.filter(({ creditLimit = 0 }) => creditLimit > 0)
    const states = await Promise.all(may.map(({ aid }) => store.clearing(aid)))
    return may.filter((_, at) => states[at]?.stoppedMs === undefined)
  }

  /**
   * The hub at which a payment is made, where that is another one: a peer, or the one that was asked for this very payment,
   * whatever its operator said since.
   */
  async hubOf(request: PaymentRequest): Promise<string | undefined> {
    const hub = hubOfNetwork(request.accepted.network)
    if (hub === undefined || hub === this.#context.identity.aid) return undefined
    if (this.#context.peers.find(hub) !== undefined) return hub
    return (await this.#context.store.peerPayment(transactionIn(request)))?.peer
  }

  /** A peer with which payments go on; each of them may pay back what this hub owes it. */
  async #openPeer(hub: string): Promise<Peer | undefined> {
    const { peers, store } = this.#context
    const peer = peers.find(hub)
    if (peer === undefined) return undefined
    return (await store.clearing(hub)).stoppedMs === undefined ? peer : undefined
  }

  /** Whether a payment would be asked for; throws why not. What the payer has is known to its own hub alone. */
  async verify(request: PaymentRequest, hub: string): Promise<Payment> {
    const payment = paymentOf(request, hub)
    if ((await this.#context.store.peerPayment(payment.transaction)) !== undefined)
      throw new PaymentRefused('duplicate_settlement')
    if ((await this.#openPeer(hub)) === undefined) throw crossingStopped()
    await this.#judge(request, payment)
    await this.#checkLimit(hub, payment)
    return payment
  }

  /** What a peer may owe is net: it pays back what this hub owes it, also where it may owe nothing. */
  async #checkLimit(hub: string, { authorization }: Payment): Promise<void> {
    const { owes, open } = await this.#context.store.peerCredit(hub)
    const limit = this.#context.peers.find(hub)?.creditLimit ?? 0
    if (owes + open + authorization.body.amount > limit) throw new PaymentRefused('peer_limit')
  }

  /**
   * Makes a payment at both hubs, or tells again what became of it. One that this hub `hasSigned` and lost is asked for at
   * any time: its peer tells what it made.
   */
  async settle(request: PaymentRequest, hub: string, hasSigned = false): Promise<SettledAcross> {
    const payment = paymentOf(request, hub)
    const known = await this.#context.store.peerPayment(payment.transaction)
    if (known !== undefined) return acrossOf(await this.#answered(known))
    const peer = await this.#openPeer(hub)
    if (peer === undefined) throw crossingStopped()
    await this.#judge(request, payment, hasSigned)
    await this.#checkLimit(hub, payment)
    await this.#count(hub)
    await this.#checkAway(peer)
    const asked = askedOf(payment, peer, request)
    const result = await this.#context.store.openPeerPayment({
      ...asked,
      askAtMs: payment.authorization.body.notAfter + AFTER_END_MS,
      creditMax: peer.creditLimit ?? 0,
      openMax: OPEN_MAX,
    })
    if (result.outcome === 'over') throw new PaymentRefused('peer_limit')
    const row = result.outcome === 'found' ? result.payment : openOf(asked)
    return acrossOf(row.state === 'asked' ? await this.#asked(row) : row)
  }

  /** The payment that an order is about; undefined where its hold is not at a peer. */
  async about(order: Uint8Array): Promise<PeerPayment | undefined> {
    return await this.#context.store.peerPayment(decodedOrder(order).body.transaction)
  }

  /** Carries out a payee's order about a hold at a peer; `releases` when it must give all back. */
  async end(known: PeerPayment, orderBytes: Uint8Array, releases: boolean): Promise<SettledAcross> {
    const order = decodedOrder(orderBytes)
    const row = known.state === 'asked' ? await this.#askedFor(known, order) : known
    checkOrder(order, releases, settledOf(row) ?? settledOf({ receipt: row.endReceipt }), row.peer)
    if (row.state === 'ended') return endOf(row, order)
    await this.#parts.holds.checkSignature(order)
    const { now, store } = this.#context
    await store.orderPeerPayment({
      transaction: row.transaction,
      order: orderBytes,
      askAtMs: now() + ORDER_AGAIN_MS,
    })
    return endOf(await this.#asked({ ...row, order: orderBytes }), order)
  }

  /** A payee knows of its hold, where this hub lost the answer by a restore: it is asked for at once. */
  async #askedFor(row: PeerPayment, order: HoldOrder): Promise<PeerPayment> {
    if (order.body.payee !== row.payee) throw new PaymentPending(row.transaction, AGAIN)
    await this.#parts.holds.checkSignature(order)
    return await this.#answered(row)
  }

  /** How the hold of a payment has ended; undefined while it has not. */
  async ended(transaction: Uint8Array): Promise<Settled | undefined> {
    const row = await this.#context.store.peerPayment(transaction)
    return row && settledOf({ receipt: row.endReceipt })
  }

  /** Asks a peer about a payment that waits for it; throws {@link PaymentPending} while it has not answered. */
  async askAgain(row: PeerPayment): Promise<void> {
    await this.#asked(row)
  }

  /** Takes what a peer shows of a payment that waits for it. */
  async takeShown(row: PeerPayment, peer: Peer, peerReceipt: Uint8Array): Promise<void> {
    const { kind } = SettlementReceipt.decode(peerReceipt).body
    if (row.peer !== peer.aid || row.state === 'ended') throw new Doubtful('payment')
    // the next question about it tells of the hold first
    if (row.state === 'asked' && kind === captured) return
    if (row.state === 'held') await this.#takeEnd(row, peer, peerReceipt)
    else await this.#take(row, peer, peerReceipt)
  }

  /** Everything but what the payer's own hub knows: who is paid, when, under which rules. */
  async #judge(request: PaymentRequest, { authorization }: Payment, hasSigned = false): Promise<void> {
    const { body } = authorization
    if (!hasSigned) await checkTimes(this.#context, body)
    if (request.reference !== undefined) throw misfit("a redemption is made at the payer's own hub")
    const payee = await this.#parts.agents.find(body.payTo)
    if (payee === undefined || (body.refundOf === undefined && !payee.row.registered))
      throw misfit('the payee is not registered here')
    checkRules(request, body, this.#context.now())
  }

  async #count(hub: string, transaction?: Uint8Array): Promise<void> {
    if ((await this.#rates.take(hub, this.#context.now())) === 0) return
    throw transaction === undefined
      ? new PaymentRefused('settlement_pending', AGAIN)
      : new PaymentPending(transaction, AGAIN)
  }

  /** While a peer gives no answer, nothing is begun that would wait for it. */
  async #checkAway({ aid }: Peer): Promise<void> {
    const { now, peers } = this.#context
    const { fault } = peers.contact(aid)
    // a clock that was set back since says nothing of how long ago that was
    if (fault !== undefined && Math.abs(now() - fault.ms) < ORDER_AGAIN_MS)
      throw new PaymentRefused('settlement_pending', AGAIN)
  }

  /** The payment once its peer has said that it made or holds it. */
  async #answered(row: PeerPayment): Promise<PeerPayment> {
    if (row.state !== 'asked') return row
    await this.#count(row.peer, row.transaction)
    return await this.#asked(row)
  }

  /** One question about one payment at a time; who asks meanwhile gets its answer. */
  async #asked(row: PeerPayment): Promise<PeerPayment> {
    const peer = this.#context.peers.find(row.peer)
    if (peer === undefined) throw new PaymentPending(row.transaction, 'it is no peer of this hub any more')
    const id = `${row.state} ${toHex(row.transaction)} ${row.order === undefined ? '' : toHex(row.order)}`
    const asking = this.#asking.get(id) ?? this.#ask(row, peer).finally(() => this.#asking.delete(id))
    this.#asking.set(id, asking)
    return await asking
  }

  async #ask(row: PeerPayment, peer: Peer): Promise<PeerPayment> {
    const { authorization, holdSeconds, order } = row
    const asksEnd = row.state === 'held' && order === undefined
    const answer = await this.#answerOf(row, peer, {
      authorization,
      holdSeconds,
      ...present({ order }),
      asksEnd,
    })
    try {
      if (row.state === 'held') await this.#takeEnd(row, peer, asksEnd ? answer.end : answer.receipt)
      else await this.#take(row, peer, answer.receipt)
    } catch (error) {
      if (!(error instanceof Doubtful)) throw error
      this.#context.alert('a peer answered a payment with a receipt that does not hold', {
        peer: peer.url,
        why: error.message,
      })
      throw new PaymentPending(row.transaction, 'what it signed does not hold')
    }
    return (await this.#context.store.peerPayment(row.transaction)) ?? row
  }

  async #answerOf(row: PeerPayment, peer: Peer, asked: Parameters<PeerCalls['settle']>[1]) {
    const answer = await this.#called(row, peer, asked)
    if (!('refused' in answer)) return answer
    // what it holds ends by its signature alone
    if (row.state === 'held') {
      this.#tellOfLost(row, peer, answer.refused)
      await this.#remind(row, peer)
      throw new PaymentPending(row.transaction, 'it refused to say how the hold ended')
    }
    await this.#context.store.dropPeerPayment(row.transaction)
    const { refused } = answer
    const code = isPaymentReason(refused) && refused !== 'settlement_pending' ? refused : 'invalid_payload'
    throw new PaymentRefused(code, 'the hub of the payer says so')
  }

  /** A peer that was restored may have lost the hold: it takes its own receipt back, and is asked again. */
  async #remind({ peerReceipt, transaction }: PeerPayment, peer: Peer): Promise<void> {
    if (peerReceipt === undefined) return
    const { due } = await this.#context.store.peerFigures(peer.aid)
    try {
      await this.#parts.calls.clear(peer, { due, proof: { kind: 'receipt', bytes: peerReceipt } })
    } catch (error) {
      if (error instanceof Refusal) throw new PaymentPending(transaction, AGAIN)
      throw error
    }
  }

  /** For an hour it was shown its own receipt, and refuses still: nobody but the operators of both can end that. */
  #tellOfLost({ authorization }: PeerPayment, { aid, url }: Peer, why: string): void {
    const { now, timers, alert } = this.#context
    const { holdUntil = 0 } = Authorization.decode(authorization).body
    const nowMs = timers.monotonic()
    if (now() < holdUntil + HOUR_MS || nowMs - (this.#told.get(aid) ?? Number.NEGATIVE_INFINITY) < DAY_MS)
      return
    this.#told.set(aid, nowMs)
    alert('a peer does not say how a hold ended that is over', { peer: url, why })
  }

  async #called(
    row: PeerPayment,
    peer: Peer,
    asked: Parameters<PeerCalls['settle']>[1],
  ): Promise<PeerPaymentAnswer> {
    try {
      return await this.#parts.calls.settle(peer, asked)
    } catch (error) {
      if (error instanceof Refusal) throw new PaymentPending(row.transaction, AGAIN)
      throw error
    }
  }

  /** The peer made the payment, or holds it. */
  async #take(row: PeerPayment, peer: Peer, peerReceipt: Uint8Array): Promise<void> {
    const { authorization } = row
    const { body } = Authorization.decode(authorization)
    const kind = body.holdUntil === undefined ? paid : held
    await this.#parts.receipts.read(peer, peerReceipt, { authorization, kinds: [kind] })
    const settled = this.#sign(row, body, { kind, amount: body.amount, holdUntil: body.holdUntil })
    const isHold = body.holdUntil !== undefined
    const outcome = await this.#context.store.answerPeerPayment({
      asked: row,
      receipt: settled.bytes,
      peerReceipt,
      ...present({ askAtMs: isHold ? (body.holdUntil ?? 0) + AFTER_END_MS : undefined }),
      ...present({ posting: isHold ? undefined : this.#posting(row, body, settled, row.transaction) }),
    })
    if (outcome !== 'held') checkPosted({ outcome } as Parameters<typeof checkPosted>[0])
  }

  /** The hold has ended at the peer; without a receipt it has not. */
  async #takeEnd(row: PeerPayment, peer: Peer, peerReceipt: Uint8Array | undefined): Promise<void> {
    if (peerReceipt === undefined) throw new PaymentPending(row.transaction, 'the hold has not ended')
    const { authorization, transaction } = row
    const end = await this.#parts.receipts.read(peer, peerReceipt, {
      authorization,
      kinds: [captured, returned],
    })
    const { body } = Authorization.decode(authorization)
    const { kind, amount } = end.body
    const settled = this.#sign(row, body, { kind, amount })
    const posting =
      kind === captured ? this.#posting(row, body, settled, endId(transaction), transaction) : undefined
    const outcome = await this.#context.store.endPeerPayment({
      transaction,
      receipt: settled.bytes,
      peerReceipt,
      ...present({ posting }),
    })
    if (outcome !== 'held') checkPosted({ outcome } as Parameters<typeof checkPosted>[0])
  }

  #sign(
    { transaction, peer }: AskedPayment,
    { payer, payTo, network }: Authorization['body'],
    outcome: Pick<Settled['body'], 'kind' | 'amount'> & { holdUntil?: number | undefined },
  ): Settled {
    return this.#parts.settlements.sign({ transaction, payer, payee: payTo, network, peer, ...outcome })
  }

  #posting(
    { peer }: AskedPayment,
    { payer, payTo, refundOf }: Authorization['body'],
    settled: Settled,
    id: Uint8Array,
    about: Uint8Array | undefined = refundOf,
  ) {
    const { amount, settledAt } = settled.body
    const payee = agentAccount(payTo)
    return {
      id,
      reason: refundOf === undefined ? ('payment' as const) : ('refund' as const),
      atMs: settledAt,
      amount,
      moves: [{ from: peerAccount(peer), to: payee, amount }],
      about,
      receipt: settled.bytes,
      parties: payer === payTo ? undefined : { payer: agentAccount(payer), payee },
    }
  }
}
