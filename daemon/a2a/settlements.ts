/** What the hub says of a payment that came with a request. */
import { present } from '../../protocol/encoding/present.ts'
import type { Timers } from '../../protocol/timers.ts'
import type { Events } from '../platform/events.ts'
import { type A2aTaskRow, a2aTaskAt } from '../store/a2a.ts'
import type { Store } from '../store/open.ts'
import { type PaymentRow, paymentOf } from '../store/payments.ts'
import { type CapabilityCalls, type Means, OWN } from './capability-calls.ts'
import type { TaskStatus } from './shapes.ts'
import type { TaskEvents } from './task-events.ts'
import { isJudged, settlementOf } from './x402.ts'

/** How long an answer waits for the hub's word on a payment. */
const JUDGED_MS = 30_000
const LOOK_MS = 1_000

export class Settlements {
  readonly #store: Store
  readonly #events: Events
  readonly #timers: Timers
  readonly #taskEvents: TaskEvents
  readonly #capabilityCalls: CapabilityCalls

  constructor(parts: {
    store: Store
    events: Events
    timers: Timers
    taskEvents: TaskEvents
    capabilityCalls: CapabilityCalls
  }) {
    this.#store = parts.store
    this.#events = parts.events
    this.#timers = parts.timers
    this.#taskEvents = parts.taskEvents
    this.#capabilityCalls = parts.capabilityCalls
  }

  /** What the hub said of a payment by header; one that it refused is asked for again. */
  async of(task: A2aTaskRow, means: Means, signal: AbortSignal): Promise<{ settled?: object }> {
    if (means.payment === undefined || task.agent !== OWN) return {}
    const row = await this.#judged(task, signal)
    const settled = row && settlementOf(row)
    if (row !== undefined && row.state !== 'refused') return present({ settled })
    const why = (JSON.parse(this.#taskEvents.look(task.key).status) as TaskStatus).message?.parts[0] as {
      text?: string
    }
    throw this.#capabilityCalls.neededAgain(task, why?.text, settled)
  }

  /** The payment of a task, once the hub has judged it or some time is over. */
  async #judged({ key }: A2aTaskRow, signal: AbortSignal): Promise<PaymentRow | undefined> {
    const timers = this.#timers
    const until = timers.monotonic() + JUDGED_MS
    for (;;) {
      const task = a2aTaskAt(this.#store, key)
      if (task.interaction === null) return undefined
      const row = paymentOf(this.#store, task.interaction)
      const isOver = this.#taskEvents.interactionOf(task).state !== 'open'
      const left = until - timers.monotonic()
      if (isOver || (row !== undefined && isJudged(row)) || left <= 0 || signal.aborted) return row
      await this.#events.next(() => true, Math.min(left, LOOK_MS), signal)
    }
  }
}
