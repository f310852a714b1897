/** Messages of tasks: which task, whose turn, which number, and what they say. Inside the transaction that judges them. */
import { toBase64url } from '../../protocol/encoding/bytes.ts'
import { Refusal } from '../../protocol/encoding/errors.ts'
import type { MessageBody } from '../../protocol/mail/message.ts'
import { type AnyPayload, kinds } from '../../protocol/mail/payload.ts'
import type { Arrived } from '../carrier/carrier.ts'
import type { Identity } from '../identity/identity.ts'
import { doubtHead } from '../peers/heads.ts'
import type { PeerBook } from '../peers/peers.ts'
import type { Store } from '../store/open.ts'
import type { Verdict } from '../store/seen.ts'
import type { Interaction, Threads } from '../store/threads.ts'
import type { TaskNews } from '../tasks/news.ts'
import type { Admissions } from '../tasks/policies.ts'
import type { HeldReceipts } from '../tasks/receipt-requester.ts'
import { isCut, isOver, isRequester } from '../tasks/standing.ts'
import type { Claims } from './claims.ts'
import type { Confirming } from './confirming.ts'
import { bytesOf, isNumbered, isOfProvider, isRoleRight, isStep } from './kinds.ts'
import type { LostTasks } from './lost-tasks.ts'
import type { NewTasks } from './new-tasks.ts'
import { readableText } from './reading.ts'
import type { TaskSteps } from './task-steps.ts'

/** A step that the state of the interaction does not allow; rolls back what was stored of it. */
export class ForeignStep extends Refusal<'foreign_step'> {
  override name = 'ForeignStep'
  constructor(kind: number) {
    super('foreign_step', `a message of kind ${kind} may not come now`)
  }
}

/** The task that a message belongs to. */
export class TaskOfMail {
  readonly #identity: Identity
  readonly #threads: Threads
  readonly #claims: Claims
  readonly #lostTasks: LostTasks

  constructor(
    identity: Identity,
    threads: Threads,
    { claims, lostTasks }: { claims: Claims; lostTasks: LostTasks },
  ) {
    this.#identity = identity
    this.#threads = threads
    this.#claims = claims
    this.#lostTasks = lostTasks
  }

  find(sender: string, id: string): Interaction | undefined {
    return this.#threads.find(sender, id) ?? this.#threads.find(this.#identity.aid, id)
  }

  /** The same, where it is a task with the sender; one that is not here may be lost, or made up. */
  of(body: MessageBody, id: string): Interaction | undefined {
    const interaction = this.find(body.from, id)
    if (interaction === undefined && isOfProvider(body.kind)) this.#claims.note(body.from)
    if (interaction === undefined) this.#lostTasks.noteUnknown(body)
    return interaction?.peer === body.from ? interaction : undefined
  }
}

/** Which numbered messages a task still takes. */
export class NumberRules {
  readonly #store: Store
  readonly #threads: Threads
  readonly #admissions: Admissions
  readonly #now: () => number

  constructor(
    { store, threads, admissions }: { store: Store; threads: Threads; admissions: Admissions },
    now: () => number,
  ) {
    this.#store = store
    this.#threads = threads
    this.#admissions = admissions
    this.#now = now
  }

  /** Why a numbered message is not taken: its number is held, the cut is made, or a stranger says too much. */
  refusal(interaction: Interaction, body: MessageBody): Verdict | undefined {
    if (!isNumbered(body.kind)) return undefined
    if (this.#threads.byNumber(interaction.key, 'in', body.number) !== undefined) {
      doubtHead({ store: this.#store, now: this.#now }, body.from)
      return 'malformed'
    }
    if (interaction.peerLast !== null && body.number > interaction.peerLast) return 'ended'
    if (isCut(interaction) || (isOver(interaction) && interaction.state !== 'expired')) {
      const late = isCut(interaction) && isRequester(interaction) && interaction.receiptState === 'waiting'
      if (!late) return 'ended'
    }
    if (isStep(body.kind) || this.#admissions.mayAdd(interaction, bytesOf(body))) return undefined
    return 'refusedByPolicy'
  }
}

type StoredParts = {
  threads: Threads
  peers: PeerBook
  confirming: Confirming
  steps: TaskSteps
  heldReceipts: HeldReceipts
  news: TaskNews
}

/** Messages that a task takes. */
export class TakenMail {
  readonly #parts: StoredParts

  constructor(parts: StoredParts) {
    this.#parts = parts
  }

  /** Stores a message and does what it says; throws {@link ForeignStep} where it may not come now. */
  take(interaction: Interaction, arrived: Arrived, said: { message: AnyPayload; text: string }): void {
    const { threads, peers, confirming, steps, heldReceipts, news } = this.#parts
    const { body, digest } = arrived
    const { message, text } = said
    const stored = threads.storeIncoming(interaction, body, { digest, text })
    confirming.byAnswer(interaction, body)
    peers.learn(arrived.log, arrived.keySet)
    const acted = steps.take(stored.interaction, message)
    if (acted === undefined) throw new ForeignStep(message.kind)
    heldReceipts.settleWaiting(acted)
    news.heard(acted, message.kind)
  }
}

type TaskMailParts = { tasks: TaskOfMail; rules: NumberRules; taken: TakenMail; newTasks: NewTasks }

export class TaskMail {
  readonly #parts: TaskMailParts

  constructor(parts: TaskMailParts) {
    this.#parts = parts
  }

  /** Whether a message belongs to a task that is here. */
  knowsTaskOf({ from, interactionId }: MessageBody): boolean {
    if (interactionId === undefined) return false
    return this.#parts.tasks.find(from, toBase64url(interactionId)) !== undefined
  }

  take(arrived: Arrived, message: AnyPayload): Verdict {
    const { tasks, rules, taken, newTasks } = this.#parts
    const { body } = arrived
    const id = toBase64url(body.interactionId as Uint8Array)
    if (message.kind === kinds.delegate) return newTasks.take(arrived, message.payload, id)
    const interaction = tasks.of(body, id)
    if (interaction === undefined || !isRoleRight(interaction, message)) return 'malformed'
    const refusal = rules.refusal(interaction, body)
    if (refusal !== undefined) return refusal
    const text = readableText(message, body.attachments)
    if (text === undefined) return 'malformed'
    taken.take(interaction, arrived, { message, text })
    return 'stored'
  }
}
