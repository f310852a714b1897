/** What waits for a hub about payments, for the owner: why, and what asks again. */
import { shellWord } from '../../protocol/shell.ts'
import { pendingRedemptions } from '../payments/redemptions.ts'
import { pendingRefunds } from '../payments/refunds.ts'
import { openMoves } from '../store/credit-moves.ts'
import type { Store } from '../store/open.ts'
import { openPaymentsOut, waitingPayments } from '../store/open-payments.ts'
import { signaturesOnTheWay } from '../store/outbox-sizes.ts'
import { isSilence, type PaymentProblem } from '../store/payments.ts'

/** A hub that did not answer once or twice is nothing to speak of. */
const TRIES_MIN = 3

const SAYS: Readonly<Record<PaymentProblem, string>> = {
  unanswered: 'its hub does not answer',
  no_account: 'this node has no account at its hub any more',
  key_unknown: 'its hub does not know the newest key of this node',
  refused: 'its hub refused the order about it',
  hold_ended: 'its hub says that the hold has ended, and signed nothing',
  hold_lost: 'its hub does not have what it signed',
  bad_receipt: 'its hub answered with a receipt that does not hold',
  false_receipt: 'the provider sent a receipt that does not hold',
  said_refused: 'its provider says that it was refused, and may still take it until it expires',
  still_held: 'the task is over, and its hub holds them still',
  unproven: 'its hub shows that the hold has ended, and has not signed that',
  other_hub: 'the hub of the payer has not answered',
}

/** One for each reason, with how many wait for it. */
export function paymentWarnings(store: Store, now: () => number): string[] {
  const sums = new Map<PaymentProblem, { count: number; amount: number }>()
  for (const { problem, tries, amount } of waitingPayments(store)) {
    if (problem === null || (isSilence(problem) && tries < TRIES_MIN)) continue
    const { count, amount: before } = sums.get(problem) ?? { count: 0, amount: 0 }
    sums.set(problem, { count: count + 1, amount: before + amount })
  }
  const payments = [...sums].map(
    ([problem, { count, amount }]) =>
      `${credits(amount)} of ${count === 1 ? 'a payment' : `${count} payments`} wait: ${SAYS[problem]}; svc reconcile asks again`,
  )
  const refunds = pendingRefunds(store).length
  const given =
    refunds === 0
      ? []
      : [
          `${refunds === 1 ? 'a refund waits' : `${refunds} refunds wait`} for the hub; svc refund <id> asks again`,
        ]
  const redeemed = pendingRedemptions(store, now()).map(
    ({ amount, reference, isRefused }) =>
      `${isRefused ? saysRefused(amount) : `the hub has not proven that it redeemed ${credits(amount)}`}; svc redeem ${amount} --ref ${shellWord(reference)} asks again`,
  )
  const moved = openMoves(store).map(
    ({ amount }) =>
      `the hub has not proven that ${credits(amount)} came along from the one that was left; svc balance --move ${amount} asks again`,
  )
  return [...payments, ...given, ...redeemed, ...moved]
}

/** What was signed under the key before a rotation and has not been proven to be done. */
export function waitsView(store: Store, now: () => number) {
  const waiting = waitingPayments(store)
  const waits = {
    receipts: signaturesOnTheWay(store).length,
    orders: waiting.filter(({ side, state }) => side === 'payee' && state === 'ending').length,
    authorizations: openPaymentsOut(store).length,
    refunds: pendingRefunds(store).length,
    redemptions: pendingRedemptions(store, now()).length,
    moves: openMoves(store).length,
  }
  return Object.values(waits).some(count => count > 0) ? { waits } : {}
}

const credits = (amount: number): string => (amount === 1 ? '1 credit' : `${amount} credits`)
const saysRefused = (amount: number): string =>
  `the hub refused to redeem ${credits(amount)}, and may still do so until what was signed for it expires`
