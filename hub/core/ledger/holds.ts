/**
 * The end of a hold (objects: hold): captured or released by an order of its payee, or lapsed. It ends once; a lapse is
 * posted before anything else touches the hold or its payer's credits.
 */
import { labelled } from '../../../protocol/crypto/hash.ts'
import { Malformed } from '../../../protocol/encoding/bytes.ts'
import { keyAt } from '../../../protocol/identity/kel.ts'
import { HoldOrder, settlementKinds } from '../../../protocol/proof/payment.ts'
import type { Move, OpenHold, PostResult } from '../../store/ledger-port.ts'
import type { JudgedBy } from '../../store/port.ts'
import type { Agents } from '../agents.ts'
import type { HubContext } from '../context.ts'
import type { HoldClock } from './hold-clock.ts'
import { agentAccount, endId, heldAccount, peerAccount } from './names.ts'
import { PaymentRefused } from './refused.ts'
import { type Settled, type Settlements, settledOf } from './settlements.ts'
import { misfit } from './terms.ts'

const LAPSED_AT_ONCE = 100

type Parts = { agents: Agents; settlements: Settlements; clock: HoldClock }

export class Holds {
  readonly #context: HubContext
  readonly #agents: Agents
  readonly #settlements: Settlements
  readonly clock: HoldClock

  constructor(context: HubContext, { agents, settlements, clock }: Parts) {
    this.#context = context
    this.#agents = agents
    this.#settlements = settlements
    this.clock = clock
  }

  /** Carries out an order of the payee; `releases` when it must give all back. */
  async end(orderBytes: Uint8Array, releases: boolean): Promise<Settled> {
    const order = decodedOrder(orderBytes)
    const { transaction, amount } = order.body
    checkOrder(order, releases, await this.#heldOf(transaction))
    // before the signature: the key of an order that was carried out may have been rotated since
    const ended = await this.ended(transaction)
    if (ended !== undefined) return sameEnd(ended, amount)
    const { result, settled } = await this.#agents.judged(async () => {
      const by = [await this.checkSignature(order)]
      return { ...(await this.#endBy(order, by)), by }
    })
    return sameEnd(endedBy(result, settled), amount)
  }

  /** Carries out an order that a peer has checked, and tells how the hold has ended, whatever was ordered. */
  async endFor(peer: string, orderBytes: Uint8Array): Promise<Settled> {
    const order = decodedOrder(orderBytes)
    const { transaction, amount } = order.body
    const known = (await this.#heldOf(transaction)) ?? (await this.#endOf(transaction))
    checkOrder(order, amount === 0, known, peer)
    const ended = await this.ended(transaction)
    if (ended !== undefined) return ended
    const { result, settled } = await this.#endBy(order, [])
    return endedBy(result, settled)
  }

  async #endBy({ body }: HoldOrder, by: readonly JudgedBy[]) {
    const hold = await this.#context.store.openHold(body.transaction)
    if (hold === undefined) throw new PaymentRefused('hold_ended')
    const posted = await this.#post(hold, body.amount, by)
    return { outcome: posted.result.outcome, ...posted }
  }

  async #heldOf(transaction: Uint8Array): Promise<Settled | undefined> {
    return settledOf((await this.#context.store.transfer(transaction)) ?? { receipt: undefined })
  }

  /** The row of the payee, under whose key an order holds. */
  async checkSignature(order: HoldOrder): Promise<JudgedBy> {
    const { payee, payeeKelSeq } = order.body
    const agent = await this.#agents.find(payee)
    const log = agent?.log
    const acts = log !== undefined && !log.deactivated && payeeKelSeq === log.seq
    const key = acts ? keyAt(log, payeeKelSeq) : undefined
    const holds =
      key !== undefined &&
      (await this.#context.verifier.verify(key, labelled(HoldOrder.label, order.bodyBytes), order.signature))
    if (!holds || agent === undefined) throw new PaymentRefused('invalid_signature')
    return { aid: payee, version: agent.row.version }
  }

  async #endOf(transaction: Uint8Array): Promise<Settled | undefined> {
    const ended = await this.#context.store.transfer(endId(transaction))
    return ended && settledOf(ended)
  }

  /** How a hold has ended; undefined while it has not. */
  async ended(transaction: Uint8Array): Promise<Settled | undefined> {
    await this.#lapseOne(transaction)
    return await this.#endOf(transaction)
  }

  /** What the payee has taken of a hold that has ended; 0 while it has not. */
  async captured(transaction: Uint8Array): Promise<number> {
    const ended = await this.#endOf(transaction)
    return ended?.body.kind === 2 ? ended.body.amount : 0
  }

  async #lapseOne(transaction: Uint8Array): Promise<void> {
    const hold = await this.#context.store.openHold(transaction)
    if (hold !== undefined && hold.untilMs <= this.clock.now()) await this.#lapsed(hold)
  }

  /** Gives back what has lapsed, of one payer or of all; true while there is more. */
  async lapse(payer?: string): Promise<boolean> {
    const { store } = this.#context
    const lapsed = await store.lapsedHolds(this.clock.now(), LAPSED_AT_ONCE, payer)
    await Promise.all(lapsed.map(hold => this.#lapsed(hold)))
    return lapsed.length === LAPSED_AT_ONCE
  }

  async #lapsed(hold: OpenHold): Promise<void> {
    const { result, settled } = await this.#post(hold, 0)
    endedBy(result, settled)
  }

  /** Gives back all that has lapsed of one payer. */
  async lapseAll(payer: string): Promise<void> {
    while (await this.lapse(payer));
  }

  /** Ends a hold: so much to its payee, the rest back to its payer. */
  async #post(
    hold: OpenHold,
    captured: number,
    judgedBy: readonly JudgedBy[] = [],
  ): Promise<{ result: PostResult; settled: Settled }> {
    const { transaction, payer, payee, amount, peer } = hold
    const from = heldAccount(transaction)
    const parties = { payer: agentAccount(payer), payee: agentAccount(payee) }
    const moves: Move[] = [
      { from, to: peer === undefined ? parties.payee : peerAccount(peer), amount: captured },
      { from, to: parties.payer, amount: amount - captured },
    ].filter(move => move.amount > 0)
    const settled = this.#settlements.sign({
      transaction,
      kind: captured > 0 ? 2 : 3,
      payer,
      payee,
      amount: captured > 0 ? captured : amount,
      peer,
    })
    const result = await this.#context.store.post({
      id: endId(transaction),
      reason: captured > 0 ? 'capture' : 'return',
      atMs: settled.body.settledAt,
      amount: settled.body.amount,
      moves,
      about: transaction,
      receipt: settled.bytes,
      parties,
      judgedBy,
    })
    return { result, settled }
  }
}

/** The end that was posted, now or before. */
function endedBy(result: PostResult, settled: Settled): Settled {
  if (result.outcome === 'posted') return settled
  const stored = result.outcome === 'held' ? settledOf(result.transfer) : undefined
  if (stored === undefined) throw new PaymentRefused('hold_ended')
  return stored
}

/** The order of a payee, not judged yet. */
export function decodedOrder(bytes: Uint8Array): HoldOrder {
  try {
    return HoldOrder.decode(bytes)
  } catch (error) {
    if (error instanceof Malformed) throw new PaymentRefused('malformed_payment', error.message)
    throw error
  }
}

/**
 * Holds an order to the receipt of its hold, whose end `peer` may order, or to that of its end, where a restore lost the
 * other; `releases` when it must give all back.
 */
export function checkOrder(
  { body }: HoldOrder,
  releases: boolean,
  known: Settled | undefined,
  peer?: string,
): void {
  if ((body.amount === 0) !== releases)
    throw misfit(releases ? 'a release captures nothing' : 'a capture takes at least one credit')
  if (known === undefined || known.body.kind === settlementKinds.paid)
    throw misfit('no hold has this transaction')
  if (known.body.payee !== body.payee) throw misfit('the order is not by the payee')
  if (known.body.kind === settlementKinds.held && body.amount > known.body.amount)
    throw misfit('more is captured than was held')
  if (known.body.peer === peer) return
  throw peer === undefined
    ? misfit('its payee ends this hold at the hub where it was settled')
    : new PaymentRefused('duplicate_settlement')
}

/** The stored end, when it is the one that was ordered. */
export function sameEnd(ended: Settled, captured: number): Settled {
  if ((ended.body.kind === 2 ? ended.body.amount : 0) !== captured) throw new PaymentRefused('hold_ended')
  return ended
}
