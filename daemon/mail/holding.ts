/** Holding back what a task still has to send, and letting it go: it stays queued, in its order. */
import { kinds } from '../../protocol/mail/payload.ts'
import type { Events } from '../platform/events.ts'
import type { Transfers } from '../platform/transfers.ts'
import type { Waker } from '../platform/waker.ts'
import { refuse } from '../refusal.ts'
import { givenUp } from '../store/messages.ts'
import type { Store } from '../store/open.ts'
import { holdAll, letGo, queuedOf } from '../store/outbox.ts'
import { paymentOf } from '../store/payments.ts'
import { noReason } from '../store/reasons.ts'
import type { Interaction, Threads } from '../store/threads.ts'

type HoldingParts = { store: Store; threads: Threads; transfers: Transfers; outbox: Waker; events: Events }

export class Holding {
  readonly #parts: HoldingParts
  readonly #now: () => number

  constructor(parts: HoldingParts, now: () => number) {
    this.#parts = parts
    this.#now = now
  }

  /**
   * `queued`: messages that are still here. Letting go also says anew what was given up: the same messages, with all of
   * their time. Refuses where there are none.
   */
  set(interaction: Interaction, on: boolean): { interaction_id: string; held: boolean; queued: number } {
    const { store, transfers, outbox, events } = this.#parts
    const { key, id } = interaction
    return store.transaction(() => {
      if (on) this.#sayAnew(interaction)
      const queued = queuedOf(store, key)
      if (queued.length === 0)
        refuse('wrong_state', 'nothing of this task waits on this machine: all of it has left')
      if (on) letGo(store, key, this.#now())
      else holdAll(store, key)
      store.afterCommit(() => {
        if (on) outbox.wake()
        else for (const message of queued) transfers.stop(message)
        events.emit('delivery', { interaction_id: id, state: 'queued' })
      })
      return { interaction_id: id, held: !on, queued: queued.length }
    }, 'node.hold')
  }

  /** Puts back what was given up; a task that never got through waits for its delivery again, but not one with a payment. */
  #sayAnew(interaction: Interaction): void {
    const { store, threads } = this.#parts
    const isUndelivered = interaction.state === 'failed' || interaction.state === 'expired'
    if (isUndelivered && paymentOf(store, interaction.key) !== undefined) return
    const given = givenUp(store, interaction.key)
    for (const { key } of given) threads.queueAgain(key)
    if (isUndelivered && given.some(({ kind }) => kind === kinds.delegate))
      threads.update(interaction, { state: 'queued', ...noReason })
  }
}
