/**
 * A hub that does not have what it signed: that it holds something for this agent, or that it gave it to it. Its receipt goes
 * into the evidence chain as the proof, and its credits are neither paid nor taken until a person says so.
 */
import type { Logger } from 'pino'
import { cidText } from '../../protocol/crypto/hash.ts'
import { hubOfNetwork, networkOf, SettlementReceipt } from '../../protocol/proof/payment.ts'
import type { Chain } from '../chain/chain.ts'
import { type HubClient, waitsForOtherHub } from '../hubs/hub.ts'
import type { Events } from '../platform/events.ts'
import type { Waker } from '../platform/waker.ts'
import { acceptedUntil, alarmOf, raiseAlarm } from '../store/hub-accounts.ts'
import type { Store } from '../store/open.ts'
import { heldForUs } from '../store/open-payments.ts'
import { markEnded, noteProblem, type PaymentRow, reopenEnd } from '../store/payments.ts'
import type { Threads } from '../store/threads.ts'
import { quoteOfRow, type Receipts } from './receipts.ts'

/** So many holds are asked about when an account is compared, the newest. */
const HOLDS_COMPARED_MAX = 64

/** The newest that the hub signed about it. */
function proofOf({ heldReceipt, endReceipt }: PaymentRow): Uint8Array {
  const receipt = endReceipt ?? heldReceipt
  if (receipt === null) throw new Error('a hold without the receipt of its hub')
  return receipt
}

type LostHoldParts = { store: Store; threads: Threads; chain: Chain; receipts: Receipts; events: Events }

export class LostHolds {
  readonly #store: Store
  readonly #threads: Threads
  readonly #chain: Chain
  readonly #receipts: Receipts
  readonly #events: Events
  readonly #log: Logger

  constructor({ store, threads, chain, receipts, events }: LostHoldParts, log: Logger) {
    this.#store = store
    this.#threads = threads
    this.#chain = chain
    this.#receipts = receipts
    this.#events = events
    this.#log = log
  }

  /** A hub contradicts what it signed: said once, with its proof. */
  note(hub: Pick<HubClient, 'identity'>, row: PaymentRow): void {
    if (row.problem === 'hold_lost') return
    const store = this.#store
    const fault = lostFault(row)
    const { aid } = hub.identity
    store.transaction(() => {
      this.#record(row)
      if (alarmOf(store, aid) === undefined && !isAccepted(store, row)) raiseAlarm(store, aid, fault)
      store.afterCommit(() => this.#events.emit('hub'))
    }, 'node.audit')
    this.#log.error({ hub: aid, fault }, 'the hub does not have what it signed that it holds')
  }

  #record(row: PaymentRow): void {
    const { payment, amount, network } = row
    this.#chain.append('svc.payment.lost', {
      interaction_id: this.#threads.byKey(row.interaction).id,
      transaction: cidText(payment),
      amount,
      network,
      receipt: proofOf(row),
    })
  }

  /**
   * What a hub signed that it holds for this agent and does not have any more, although it was given the authorization once
   * more; what has an order is asked about by that. What a person went on in spite of is left out.
   */
  async at(hub: HubClient, signal: AbortSignal): Promise<PaymentRow[]> {
    const lost: PaymentRow[] = []
    const network = networkOf(hub.identity.aid)
    for (const row of heldForUs(this.#store, network).slice(-HOLDS_COMPARED_MAX)) {
      const isLost =
        row.state === 'ending' ? row.problem === 'hold_lost' : await this.#isGone(hub, row, signal)
      if (isLost) lost.push(row)
    }
    return lost.filter(row => row.lossAccepted === 0 && !isAccepted(this.#store, row))
  }

  async #isGone(hub: HubClient, row: PaymentRow, signal: AbortSignal): Promise<boolean> {
    const answer = await hub.credits.settle(row.authorization, quoteOfRow(row), signal, row.heldReceipt)
    if (waitsForOtherHub(answer)) return false
    const isKnown =
      'receipt' in answer && !(await this.#receipts.faultOfRow(row, hub, answer.receipt, 'held'))
    const problem = isKnown ? null : 'hold_lost'
    if (problem !== row.problem)
      this.#store.transaction(() => {
        if (!isKnown) this.#record(row)
        noteProblem(this.#store, row.interaction, { problem, nextAt: 0 })
      }, 'node.payment')
    return !isKnown
  }
}

export const lostFault = ({
  payment,
  amount,
  endReceipt,
}: Pick<PaymentRow, 'payment' | 'amount' | 'endReceipt'>): string =>
  endReceipt === null
    ? `it signed that it holds ${amount} credits for this agent by ${cidText(payment)}, and it knows of no such hold`
    : `it signed that ${cidText(payment)} was paid to this agent, and its ledger has no such entry`

/**
 * Payments that their hub has signed to have given to this agent, and that its ledger does not show: their orders go to it
 * once more. Gives their transactions.
 */
export function reopenLost(store: Store, payments: Waker, rows: readonly PaymentRow[]): ReadonlySet<string> {
  if (rows.length === 0) return new Set()
  store.transaction(() => {
    for (const { interaction } of rows) reopenEnd(store, interaction)
    store.afterCommit(() => payments.wake())
  }, 'node.payment')
  return new Set(rows.map(({ payment }) => cidText(payment)))
}

/** What a hub signed to have given to this agent and was ordered to give again. */
export const orderedAgain = (store: Store, network: string): number =>
  heldForUs(store, network)
    .filter(
      ({ state, endReceipt, problem }) =>
        state === 'ending' && endReceipt !== null && problem !== 'hold_lost',
    )
    .reduce((sum, { moved }) => sum + (moved ?? 0), 0)

/** Their hub shows again what it had lost. */
export function endShown(store: Store, rows: readonly PaymentRow[]): void {
  store.transaction(() => {
    for (const { interaction, endReceipt: receipt, moved } of rows)
      markEnded(store, interaction, { receipt, moved: moved ?? 0 })
  }, 'node.payment')
}

/** Whether a person went on with its hub after that had signed it. */
export const isAccepted = (store: Store, row: PaymentRow): boolean =>
  SettlementReceipt.decode(proofOf(row)).body.settledAt <=
  acceptedUntil(store, hubOfNetwork(row.network) ?? '')
