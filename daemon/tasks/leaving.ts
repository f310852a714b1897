/** Leaving a task: its provider declines it, or its requester withdraws it. Everything runs inside a transaction. */
import { encodePayload, kinds } from '../../protocol/mail/payload.ts'
import type { Attachments } from '../attachments/attachments.ts'
import type { StrangersStock } from '../peers/stock.ts'
import type { Wakers } from '../platform/waker.ts'
import { refuse } from '../refusal.ts'
import type { Store } from '../store/open.ts'
import { ownReason } from '../store/reasons.ts'
import type { Interaction, Threads } from '../store/threads.ts'
import type { TaskNews } from './news.ts'
import { dropFiles } from './policies.ts'
import { isOver, isRequester } from './standing.ts'

/** Whether the provider may still refuse the task. */
export const mayDecline = (interaction: Interaction): boolean =>
  !isRequester(interaction) && !isOver(interaction) && interaction.ownLast === null

/** Whether the requester may withdraw: also a task that nobody answered in time, but nothing after its own `end`. */
export const mayCancel = (interaction: Interaction): boolean =>
  isRequester(interaction) &&
  interaction.ownLast === null &&
  (!isOver(interaction) || interaction.state === 'expired')

type LeavingParts = {
  store: Store
  threads: Threads
  attachments: Attachments
  stock: StrangersStock
  wakers: Wakers
  news: TaskNews
}

export class Leaving {
  readonly #parts: LeavingParts

  constructor(parts: LeavingParts) {
    this.#parts = parts
  }

  /** The provider does not take the task; a stranger loses what it was given to write with. */
  decline(interaction: Interaction, reason: string): Interaction {
    const { store, attachments, stock, wakers } = this.#parts
    if (!mayDecline(interaction))
      refuse('wrong_state', `this interaction is ${interaction.state}; it cannot be declined`)
    if (interaction.state === 'pending') dropFiles(store, attachments, interaction)
    const declined = this.#leave(interaction, kinds.declined, reason)
    store.afterCommit(() => wakers.payments.wake())
    if (stock.takeBack(interaction.peer)) store.afterCommit(() => wakers.rounds.wake())
    return declined
  }

  /** The requester withdraws the task; mail that is not delivered is not recalled. */
  cancel(interaction: Interaction, reason: string): Interaction {
    const { store, wakers } = this.#parts
    if (!mayCancel(interaction))
      refuse('wrong_state', `this interaction is ${interaction.state}; it cannot be cancelled from this side`)
    store.afterCommit(() => wakers.spending.wake())
    return this.#leave(interaction, kinds.cancelled, reason)
  }

  #leave(interaction: Interaction, kind: 9 | 10, reason: string): Interaction {
    const { threads, news } = this.#parts
    const queued = threads.queue(interaction, {
      kind,
      payload: encodePayload(kind, { reason }),
      text: reason,
      numbered: true,
    })
    const state = kind === kinds.declined ? 'declined' : 'cancelled'
    const left = threads.update(queued.interaction, { state, ...ownReason(reason) })
    news.step(left)
    return left
  }
}
