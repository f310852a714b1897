/** JSON shapes of prices and payments on the control interface. */
import * as z from 'zod'
import { count, millis } from '../contract/shapes.ts'
import { interactionId } from './ids.ts'
import { ledgerReason } from './ledger.ts'

/** What became of a payment; {@link paymentShape} says when each one applies. */
export const paymentState = z.enum(['open', 'authorized', 'paying', 'held', 'taken', 'returned', 'refused'])

/**
 * A debit from after the backup that was restored, of which this node has no record: `signed`, the hub showed what this
 * identity signed for it; `unproven`, it showed nothing, and a copy that is lost may have signed it.
 */
export const lostOrder = z.strictObject({
  transaction: z.string(),
  amount: z.int().min(1),
  at: millis,
  /** Why the credits went, in the word of the ledger. */
  reason: ledgerReason,
  counterparty: z.string().optional(),
  state: z.enum(['signed', 'unproven']),
})

/**
 * Why a payment waits. `unanswered`: the hub does not answer · `no_account`: this identity has none at that hub ·
 * `key_unknown`: the hub does not know the newest key · `refused` · `hold_ended`: the hub says so, and signed nothing ·
 * `hold_lost`: it does not have what it signed · `bad_receipt`: what it signed does not hold · `false_receipt`: what the
 * provider sent does not hold · `said_refused`: the provider says so, and the hub is asked · `still_held`: the task is over, and the hub holds the credits still ·
 * `unproven`: its ledger shows how the hold ended, and it has not signed that · `other_hub`: the hub of the payer has not
 * answered the hub of the payee
 */
export const paymentProblem = z.enum([
  'unanswered',
  'no_account',
  'key_unknown',
  'refused',
  'hold_ended',
  'hold_lost',
  'bad_receipt',
  'false_receipt',
  'said_refused',
  'still_held',
  'unproven',
  'other_hub',
])

/** What a task costs, and what became of it. */
export const paymentShape = z.strictObject({
  amount: count,
  network: z.string(),
  /**
   * `open`: a person decides (`approve`) · `authorized`: on its way · `paying`: so that two hubs have to make it ·
   * `held` by the hub while the work runs · `taken` by
   * the provider · `returned`, at once or all of it later · `refused`
   */
  state: paymentState,
  /** It goes over at once, and nothing of it comes back: only while it may still be lost. */
  unheld: z.literal(true).optional(),
  /** What the provider takes when the work is withdrawn after it began; before that it costs nothing. */
  starts: count.optional(),
  /** The provider's own words beside the price, where they are others than its terms make. */
  says: z.string().optional(),
  /** What was taken, where it was less than the price. */
  taken: count.optional(),
  /** What the provider gave back of what it took. */
  given_back: count.optional(),
  /** The task that was delegated anew, with the payment. */
  paid_as: interactionId.optional(),
  /**
   * Of a node that was restored, while the price is `open`: what has to be known before it is paid by itself, what the hub
   * was shown or what the other side holds.
   */
  waits_for: z.enum(['hub', 'peer']).optional(),
  /**
   * What a copy of this node that is lost paid to this agent, so that only a person pays (`again`). `signed`: its hub shows
   * the authorization · `unproven`: it shows none · `said`: by the word of the other side.
   */
  lost_payments: z
    .array(
      z.strictObject({
        state: z.enum(['signed', 'unproven', 'said']),
        transaction: z.string().optional(),
        amount: count.optional(),
        at: millis.optional(),
        /** The task that it was for, as the other side says. */
        lost_task: z.string().optional(),
      }),
    )
    .optional(),
  /** Why it was not paid, or not without a person. */
  reason: z.string().optional(),
  problem: paymentProblem.optional(),
  /** AID of the hub of the other side, where that is another one than that of this node. */
  other_hub: z.string().optional(),
  /** The price is `open`, and paying it tells two hubs who pays whom, how much and when, for the first time. */
  first_across: z.literal(true).optional(),
  /** Until when the hub holds it at most, while it may hold it. */
  held_until: millis.optional(),
})
