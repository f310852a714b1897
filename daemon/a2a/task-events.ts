/**
 * The taskEvents of tasks as clients of A2A are told it: what happens in an interaction becomes numbered events, once each and
 * for good, so that every stream, every push and every look tells the same. A task that is over stays so.
 */
import type { OperationInput } from '../../protocol/control/operations.ts'
import { present } from '../../protocol/encoding/present.ts'
import { kinds } from '../../protocol/mail/payload.ts'
import type { Events } from '../platform/events.ts'
import { Loop } from '../platform/loop.ts'
import type { Machine } from '../platform/machine.ts'
import { Waker } from '../platform/waker.ts'
import {
  type A2aTaskRow,
  a2aTaskAt,
  a2aTaskOf,
  addA2aEvent,
  addA2aTask,
  setA2aInteraction,
  toldUpTo,
  unfinishedA2aTasks,
} from '../store/a2a.ts'
import type { Store } from '../store/open.ts'
import { paymentOf } from '../store/payments.ts'
import { quoteOf } from '../store/quotes.ts'
import type { Interaction, Message as ThreadMessage, Threads } from '../store/threads.ts'
import { newestWord } from '../store/transcripts.ts'
import { isCut, isOver, isRequester } from '../tasks/standing.ts'
import { type A2aAnswer, type Answers, messageIdOf } from './answers.ts'
import { isFinal, type Message, type TaskState, type TaskStatus } from './shapes.ts'
import { paymentMetadata } from './x402.ts'

/** What the node does for a task without being asked. */
export type Ending = (given: OperationInput<'end'>) => Promise<unknown>

/** What changes without a sign, such as a task that a person cancelled, is found by itself. */
const LOOK_MS = 15_000

/** Kinds of messages that answer; a quote only where it is of this node. */
const ANSWERS: readonly number[] = [kinds.message, kinds.result, kinds.quote]

type Standing = { state: TaskState; message: Message | undefined }
const SUBMITTED: Standing = { state: 'TASK_STATE_SUBMITTED', message: undefined }

export type OpenedTask = Pick<A2aTaskRow, 'id' | 'agent' | 'context' | 'interaction'> &
  Partial<Pick<A2aTaskRow, 'request' | 'ends'>>

export class TaskEvents {
  readonly #store: Store
  readonly #threads: Threads
  readonly #answers: Answers
  readonly #events: Events
  readonly #machine: Machine
  readonly #end: Ending
  readonly #isPaidHere: boolean
  readonly #listeners = new Set<(task: number) => void>()
  readonly #loop: Loop
  #stopListening = () => {}

  /** `isPaidHere`: whether this build pays. */
  constructor(
    parts: { store: Store; threads: Threads; answers: Answers; events: Events; machine: Machine },
    end: Ending,
    isPaidHere: boolean,
  ) {
    const { machine } = parts
    this.#store = parts.store
    this.#threads = parts.threads
    this.#answers = parts.answers
    this.#events = parts.events
    this.#machine = machine
    this.#end = end
    this.#isPaidHere = isPaidHere
    this.#loop = new Loop({
      name: 'a2a tasks',
      waker: new Waker(machine.timers),
      log: machine.log,
      restFirstMs: LOOK_MS,
      turn: () => {
        this.#lookAll()
        return LOOK_MS
      },
    })
  }

  start(): void {
    this.#stopListening = this.#events.listen(({ data }) => {
      const id = data['interaction_id']
      const interaction = typeof id === 'string' ? this.#threads.findById(id) : undefined
      if (interaction === undefined) return
      const task = a2aTaskOf(this.#store, interaction.key)
      if (task !== undefined) this.#attempt(task)
      else this.#lookAll('TASK_STATE_AUTH_REQUIRED')
    })
    this.#loop.start()
  }

  async stop(): Promise<void> {
    this.#stopListening()
    await this.#loop.stop()
  }

  /** Hears of every task that has something new to tell. */
  listen(listener: (task: number) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Opens a task, with its first status; runs inside a transaction. */
  open(task: OpenedTask, standing: Standing = SUBMITTED): A2aTaskRow {
    const { state, message } = standing
    const stateAt = this.#machine.now()
    const status = JSON.stringify(statusOf(state, stateAt, message))
    return addA2aTask(this.#store, { request: null, ends: 0, ...task, state, stateAt, status })
  }

  /** The interaction of a task that has one. */
  interactionOf({ interaction }: A2aTaskRow): Interaction {
    if (interaction === null) throw new Error('a delegated task has an interaction')
    return this.#threads.byKey(interaction)
  }

  /** The task as it stands now, with all that happened told. */
  look(key: number): A2aTaskRow {
    const store = this.#store
    const before = a2aTaskAt(store, key)
    const after = before.over === 1 ? before : store.transaction(() => this.#tell(key), 'node.a2a')
    if (after.events > before.events) this.announce(key)
    this.#endWhere(after)
    return after
  }

  announce(key: number): void {
    for (const listener of this.#listeners) listener(key)
  }

  #lookAll(state?: TaskState): void {
    for (const task of unfinishedA2aTasks(this.#store))
      if (state === undefined || task.state === state) this.#attempt(task)
  }

  #attempt({ key }: A2aTaskRow): void {
    try {
      this.look(key)
    } catch (error) {
      this.#machine.log.error({ err: error, task: key }, 'a2a: a task could not be followed')
    }
  }

  /** Tells what is new of a task; runs inside a transaction. */
  #tell(key: number): A2aTaskRow {
    const [store, threads] = [this.#store, this.#threads]
    const task = a2aTaskAt(store, key)
    if (task.interaction === null) return task
    const interaction = this.#followPayment(task, threads.byKey(task.interaction))
    const fresh = this.#answersAfter(interaction, toldUpTo(store, key))
    const pieces = fresh.flatMap(({ message, answer }) =>
      answer.pieces.map((_, n) => ({ body: JSON.stringify({ piece: n }), message: message.key })),
    )
    if (pieces.length > 0 && task.state === 'TASK_STATE_SUBMITTED')
      this.tellStatus(key, { state: 'TASK_STATE_WORKING', message: undefined })
    for (const piece of pieces) addA2aEvent(store, key, piece)
    const standing = this.#standing(task, interaction)
    const told = JSON.parse(a2aTaskAt(store, key).status) as TaskStatus
    const isNews = told.state !== standing.state || told.message?.messageId !== standing.message?.messageId
    if (isNews) this.tellStatus(key, standing, fresh.at(-1)?.message.key)
    return a2aTaskAt(store, key)
  }

  /** Tells a new status, that of an answer where there is one; runs inside a transaction. */
  tellStatus(key: number, { state, message }: Standing, answer?: number): void {
    const at = this.#machine.now()
    const status = JSON.stringify(statusOf(state, at, message))
    const standing = { state, at, status, isOver: isFinal(state) }
    addA2aEvent(this.#store, key, { body: `{"status":${status}}`, message: answer ?? null }, standing)
  }

  /** A task that was paid for goes on as another interaction. */
  #followPayment(task: A2aTaskRow, interaction: Interaction): Interaction {
    const [store, threads] = [this.#store, this.#threads]
    const paidAs = quoteOf(store, interaction.key)?.paidAs
    if (!paidAs) return interaction
    setA2aInteraction(store, task.key, paidAs)
    return threads.byKey(paidAs)
  }

  /** Words of the agent after a message of the thread. */
  #answersAfter(interaction: Interaction, after: number): { message: ThreadMessage; answer: A2aAnswer }[] {
    const isOurs = !isRequester(interaction)
    return (
      this.#threads
        .messages(interaction.key, after)
        .filter(({ direction, kind }) => (direction === 'out') === isOurs && ANSWERS.includes(kind))
        // the price of an agent is for whoever runs this node
        .filter(({ kind }) => isOurs || kind !== kinds.quote)
        .map(message => ({ message, answer: this.#answers.read(message) }))
    )
  }

  /** What the agent said last, if it spoke last. */
  #newestAnswer(interaction: Interaction): { message: ThreadMessage; answer: A2aAnswer } | undefined {
    const [store, threads] = [this.#store, this.#threads]
    const isOurs = !isRequester(interaction)
    const newest = newestWord(store, interaction.key, { withPrice: isOurs })
    if (newest === undefined || (newest.direction === 'out') !== isOurs) return undefined
    const message = threads.message(newest.key)
    return { message, answer: this.#answers.read(message) }
  }

  #standing(task: A2aTaskRow, interaction: Interaction): Standing {
    const left = leftState(interaction)
    if (left !== undefined) return { state: left, message: this.#saying(task, interaction.reason ?? '') }
    const newest = this.#newestAnswer(interaction)
    const isDone = task.ends === 1 || interaction.endBy === 'peer' || interaction.state === 'ended'
    if (newest !== undefined) {
      const state = newest.answer.state ?? (isDone ? 'TASK_STATE_COMPLETED' : 'TASK_STATE_INPUT_REQUIRED')
      const { parts } = newest.answer
      const message = parts && agentMessage(task, messageIdOf(newest.message), parts)
      return { state, message: this.#withPayment(interaction, message) }
    }
    const price = this.#priceOf(task, interaction)
    if (price !== undefined) return price
    if (interaction.state === 'ended' || interaction.state === 'end_proposed')
      return { state: 'TASK_STATE_COMPLETED', message: undefined }
    const state = interaction.state === 'queued' ? 'TASK_STATE_SUBMITTED' : 'TASK_STATE_WORKING'
    return { state, message: this.#saying(task, interaction.reason ?? '') }
  }

  /** Tells what became of the payment for a call of this node. */
  #withPayment(interaction: Interaction, message: Message | undefined): Message | undefined {
    const payment = paymentOf(this.#store, interaction.key)
    if (message === undefined || payment?.side !== 'payee') return message
    return { ...message, ...present({ metadata: paymentMetadata(payment) }) }
  }

  /** The agent wants to be paid, which is for a person or the rules of this node to decide. */
  #priceOf(task: A2aTaskRow, interaction: Interaction): Standing | undefined {
    const quote = quoteOf(this.#store, interaction.key)
    if (quote === undefined || quote.amount === null || quote.state === 'paid') return undefined
    // the rules of this node have not said yet whether they pay
    if (this.#isPaidHere && quote.reason === null) return { state: 'TASK_STATE_WORKING', message: undefined }
    const why = quote.reason === null ? '' : `: ${quote.reason}`
    const price = `the agent asks for ${quote.amount} credits${why}`
    if (quote.state === 'refused') return { state: 'TASK_STATE_REJECTED', message: this.#saying(task, price) }
    const text = `${price}; whoever runs this node pays with: svc approve ${interaction.id}`
    return { state: 'TASK_STATE_AUTH_REQUIRED', message: this.#saying(task, text) }
  }

  /** Words of the node itself. */
  #saying(task: A2aTaskRow, text: string): Message | undefined {
    return text === '' ? undefined : agentMessage(task, `${task.id}.${text.length}`, [{ text }])
  }

  /** Both sides end what the agent, or the client, is done with: no client of A2A can say more than that. */
  #endWhere(task: A2aTaskRow): void {
    if (task.over === 0 || task.interaction === null) return
    const interaction = this.#threads.byKey(task.interaction)
    if (!isRequester(interaction) || isOver(interaction) || isCut(interaction) || interaction.endBy === 'me')
      return
    this.#end({ interaction_id: interaction.id, mode: 'either' }).catch(error =>
      this.#machine.log.warn({ err: error, interaction: interaction.id }, 'a2a: a task could not be ended'),
    )
  }
}

function leftState({ state }: Interaction): TaskState | undefined {
  if (state === 'declined') return 'TASK_STATE_REJECTED'
  if (state === 'cancelled') return 'TASK_STATE_CANCELED'
  return state === 'failed' ? 'TASK_STATE_FAILED' : undefined
}

export function agentMessage(
  { id, context }: Pick<A2aTaskRow, 'id' | 'context'>,
  messageId: string,
  parts: object[],
): Message {
  return { messageId, taskId: id, contextId: context, role: 'ROLE_AGENT', parts }
}

export const statusOf = (state: TaskState, at: number, message?: Message): TaskStatus => ({
  state,
  timestamp: new Date(at).toISOString(),
  ...present({ message }),
})
