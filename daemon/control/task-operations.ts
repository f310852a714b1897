/** Operations on tasks: delegate, converse, end, rate, verify. Each answers after its commit, not after the network. */

import { resolve } from 'node:path'
import { present } from '../../protocol/encoding/present.ts'
import type { Attachments } from '../attachments/attachments.ts'
import type { Payer } from '../payments/payer.ts'
import type { Events } from '../platform/events.ts'
import { refuse } from '../refusal.ts'
import type { Store } from '../store/open.ts'
import { wasPaidBefore } from '../store/open-payments.ts'
import { paymentOf } from '../store/payments.ts'
import type { Interaction } from '../store/threads.ts'
import { turnOf } from '../store/turns.ts'
import { readText } from '../tasks/messages.ts'
import type { ReviewUploads } from '../tasks/reviews.ts'
import { isCut, isRequester } from '../tasks/standing.ts'
import { setArchived } from './archiving.ts'
import type { GivenTasks } from './given-tasks.ts'
import type { TaskOperations } from './handlers.ts'
import { type Asker, hubAsked } from './hub-call.ts'
import type { PaymentViews } from './payment-views.ts'
import type { Recipients } from './recipients.ts'
import type { TaskRules } from './rules.ts'
import type { TaskFinder } from './task-finder.ts'
import { deliveryView, messageIdText, receiptView } from './views.ts'

/** Undefined in a build that pays nobody. */
export type TaskPayer = Pick<Payer, 'pay' | 'askForLost'> | undefined

const stateOf = ({ id, state }: Interaction) => ({ interaction_id: id, state })

type GivingParts = {
  rules: TaskRules
  tasks: TaskFinder
  recipients: Recipients
  given: GivenTasks
  payments: PaymentViews
  store: Store
  uploads: Attachments['uploads']
}

/** `paysHere`: whether this build pays anybody. */
export function givingOperations(
  { rules, tasks, recipients, given: gave, payments, store, uploads }: GivingParts,
  paysHere: boolean,
): Pick<TaskOperations, 'delegate' | 'anew'> {
  return {
    async delegate(given, signal) {
      if (given.pay === true && !paysHere) refuse('no_credits', 'this build has no payment support')
      recipients.requireHome()
      const asked = await recipients.giving(given.to, () => rules.delegate(given))
      uploads.spent(given.attach)
      const pay = given.pay === true
      const id = await gave.answered(asked, { seconds: given.wait_s ?? 0, signal, pay })
      const interaction = tasks.at(id)
      const first = gave.first(interaction)
      const effect = gave.effectOf(interaction)
      const payment = payments.of(interaction)
      if (given.pay_as !== 'agent') gave.notePriceShown(interaction)
      return {
        ...stateOf(interaction),
        ...present({ warning: await recipients.warning(interaction.peer, first?.delivery) }),
        ...present({ delivery: first === undefined ? undefined : deliveryView(store, first) }),
        ...present({ effect, payment }),
        next: payment?.state === 'open' ? `svc approve ${id}` : `svc thread ${id}`,
      }
    },

    async anew({ interaction_id: id }) {
      recipients.requireHome()
      const again = rules.redelegate(tasks.at(id))
      const wasPaid = wasPaidBefore(store, again.key) || undefined
      return { ...stateOf(again), anew_of: id, ...present({ was_paid: wasPaid }) }
    },
  }
}

type SpeakingParts = {
  rules: TaskRules
  tasks: TaskFinder
  recipients: Recipients
  store: Store
  attachments: Attachments
}

export function speakingOperations({
  rules,
  tasks,
  recipients,
  store,
  attachments,
}: SpeakingParts): Pick<TaskOperations, 'message' | 'end' | 'sending'> {
  return {
    async message(given) {
      const interaction = tasks.at(given.interaction_id)
      const quoted = given.file === undefined ? '' : readText(attachments.allowed(resolve(given.file)))
      const text = [given.text ?? '', quoted].filter(part => part !== '').join('\n\n')
      const attach = given.attach ?? []
      const message = rules.say(interaction, { text, attach, key: given.idempotency_key })
      attachments.uploads.spent(attach)
      return {
        interaction_id: interaction.id,
        message_id: messageIdText(message),
        turn: turnOf(store, message),
        state: tasks.at(interaction.id).state,
        delivery: deliveryView(store, rules.message(message.key)),
        ...present({ warning: recipients.waits() }),
      }
    },

    async end({ interaction_id: id, rating, comment = '', ...ending }) {
      const rated = rating === undefined ? undefined : { rating, comment }
      return endView(rules.end(() => tasks.at(id), { ...ending, rating: rated }))
    },

    async sending({ interaction_id: id, on }) {
      return rules.setSending(tasks.at(id), on)
    },
  }
}

type AnsweringParts = { rules: TaskRules; tasks: TaskFinder; asker: Asker; payer: TaskPayer }

export function approvalOperations({
  rules,
  tasks,
  asker,
  payer,
}: AnsweringParts): Pick<TaskOperations, 'approve' | 'decline'> {
  return {
    async approve({ interaction_id: id, unheld, again }) {
      const quoted = tasks.at(id)
      if (!isRequester(quoted) || payer === undefined) return stateOf(rules.take(() => tasks.at(id)))
      await hubAsked(asker, signal => payer.askForLost(quoted, signal))
      return stateOf(payer.pay(tasks.at(id), present({ unheld, again })))
    },

    async decline({ interaction_id: id, reason = '' }) {
      return stateOf(rules.decline(tasks.at(id), reason))
    },
  }
}

type WithdrawingParts = {
  rules: TaskRules
  tasks: TaskFinder
  payments: PaymentViews
  store: Store
  events: Events
}

export function withdrawingOperations({
  rules,
  tasks,
  payments,
  store,
  events,
}: WithdrawingParts): Pick<TaskOperations, 'cancel' | 'archive'> {
  return {
    async cancel({ interaction_id: id, reason = '' }) {
      const cost = payments.of(tasks.at(id))?.starts
      const withdrawn = rules.cancel(tasks.at(id), reason)
      const isHeld = paymentOf(store, withdrawn.key) !== undefined
      return { ...stateOf(withdrawn), ...present({ may_cost: isHeld && cost ? cost : undefined }) }
    },

    async archive({ interaction_id: id, on }) {
      return setArchived(store, events, tasks.at(id), on)
    },
  }
}

type ProofParts = { rules: TaskRules; tasks: TaskFinder; reviews: Pick<ReviewUploads, 'firstAnswer'> }

export function proofOperations({
  rules,
  tasks,
  reviews,
}: ProofParts): Pick<TaskOperations, 'review' | 'acceptReceipt' | 'verify'> {
  return {
    async review({ interaction_id: id, rating, comment = '', publish }) {
      return rules.review(tasks.at(id), reviews, { rating, comment, publish })
    },

    async acceptReceipt({ interaction_id: id }) {
      const interaction = tasks.at(id)
      if (!isRequester(interaction) || !rules.mayAcceptReceipt(interaction))
        refuse(
          'wrong_state',
          'there is no second receipt of this task that agrees with what this node holds, in the place of one that was disputed',
        )
      return stateOf(rules.acceptReceipt(interaction))
    },

    async verify({ interaction_id: id }) {
      return rules.verify(tasks.at(id))
    },
  }
}

type EndView = Awaited<ReturnType<TaskOperations['end']>>

function endView(interaction: Interaction): EndView {
  return {
    interaction_id: interaction.id,
    state: interaction.state,
    ...present({ waiting_for: endWaitsFor(interaction), receipt: receiptView(interaction) }),
  }
}

function endWaitsFor(interaction: Interaction): EndView['waiting_for'] {
  if (!isCut(interaction)) return 'peer'
  if (interaction.receiptState === 'none') return undefined
  if (interaction.receipt === null) return 'receipt'
  return interaction.counterSignature === null ? 'counter_signature' : undefined
}
