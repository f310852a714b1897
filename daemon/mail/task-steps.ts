/** What a numbered message, or what follows one, changes in its task. Everything runs inside the transaction that judges it. */
import { type AnyPayload, kinds, type Payload } from '../../protocol/mail/payload.ts'
import type { Receipt } from '../../protocol/proof/receipt.ts'
import type { Attachments } from '../attachments/attachments.ts'
import type { Wakers } from '../platform/waker.ts'
import type { Store } from '../store/open.ts'
import { reasonOfPeer } from '../store/reasons.ts'
import type { Interaction, Threads } from '../store/threads.ts'
import type { CounterSignatures } from '../tasks/counter-signatures.ts'
import { reopened } from '../tasks/deadlines.ts'
import type { Endings } from '../tasks/endings.ts'
import { isEndNear, takeNoReceipt } from '../tasks/no-receipt.ts'
import { leaveUnsaid } from '../tasks/not-taken.ts'
import { dropFiles } from '../tasks/policies.ts'
import type { ToldPayments } from '../tasks/quotes.ts'
import type { ReceiptJudge } from '../tasks/receipt-judge.ts'
import type { HeldReceipts } from '../tasks/receipt-requester.ts'
import { isCut, isOver, isRequester } from '../tasks/standing.ts'
import type { Confirming } from './confirming.ts'
import { isNumbered } from './kinds.ts'

/** Words, prices, and what a hub signed of their payment. */
export class TakenWords {
  readonly #threads: Threads
  readonly #told: ToldPayments

  constructor(threads: Threads, told: ToldPayments) {
    this.#threads = threads
    this.#told = told
  }

  /** The first words of the provider open the task; a price, and a hub's receipts, are kept beside them. */
  take(interaction: Interaction, { kind, payload }: Extract<AnyPayload, { kind: 1 | 2 | 7 }>): Interaction {
    if (kind === kinds.quote) this.#told.takeQuote(interaction, payload.document)
    else {
      if (payload.settlements !== undefined) this.#told.takeSettlements(interaction, payload.settlements)
      if (payload.refund !== undefined) this.#told.takeBack(interaction, payload.refund)
    }
    const waits = interaction.state === 'queued' || interaction.state === 'delivered'
    return isRequester(interaction) && waits
      ? this.#threads.update(interaction, { state: 'open' })
      : interaction
  }

  /** The hub's later word, and what goes back after the end; undefined where none is waited for. */
  takeSettlements(
    interaction: Interaction,
    { settlements, refund }: Payload<typeof kinds.settlements>,
  ): Interaction | undefined {
    if (refund !== undefined) this.#told.takeBack(interaction, refund)
    const isTaken = this.#told.takeLaterSettlements(interaction, settlements)
    return isTaken || refund !== undefined ? interaction : undefined
  }
}

/** Both steps that end a task, with what they say of the messages before. */
export class TakenEnds {
  readonly #confirming: Confirming
  readonly #endings: Endings

  constructor(confirming: Confirming, endings: Endings) {
    this.#confirming = confirming
    this.#endings = endings
  }

  propose(interaction: Interaction, payload: Payload<3>): Interaction | undefined {
    this.#confirming.byLists(interaction, payload)
    return this.#endings.takeEnd(interaction, payload)
  }

  accept(interaction: Interaction, payload: Payload<4>): Interaction | undefined {
    this.#confirming.byLists(interaction, payload)
    return this.#endings.takeAcceptance(interaction, payload)
  }
}

/** Receipts as they come to a requester. */
export class TakenReceipts {
  readonly #judge: ReceiptJudge
  readonly #held: HeldReceipts

  constructor(judge: ReceiptJudge, held: HeldReceipts) {
    this.#judge = judge
    this.#held = held
  }

  take(interaction: Interaction, receipt: Receipt): Interaction | undefined {
    if (!this.#judge.isOfProvider(interaction, receipt)) return undefined
    if (isCut(interaction)) return this.#held.take(interaction, receipt)
    // It may overtake the last message of the cut, and is judged when that one is here.
    if (!isEndNear(interaction) || interaction.receipt !== null) return undefined
    return this.#held.keep(interaction, receipt)
  }
}

type LeaveParts = { store: Store; threads: Threads; attachments: Attachments; wakers: Wakers }

/** Tasks that the other side declines or withdraws. */
export class TakenLeave {
  readonly #parts: LeaveParts

  constructor(parts: LeaveParts) {
    this.#parts = parts
  }

  /** Only what is not over yet can be declined or withdrawn. */
  take(
    interaction: Interaction,
    { kind, payload }: Extract<AnyPayload, { kind: 9 | 10 }>,
  ): Interaction | undefined {
    const { store, threads, attachments, wakers } = this.#parts
    if (isOver(interaction)) return undefined
    if (interaction.state === 'pending') dropFiles(store, attachments, interaction)
    const state = kind === kinds.declined ? 'declined' : 'cancelled'
    store.afterCommit(() => (kind === kinds.declined ? wakers.spending : wakers.payments).wake())
    const left = threads.update(interaction, { state, ...reasonOfPeer(payload.reason) })
    leaveUnsaid(store, threads, left)
    return left
  }
}

type StepParts = {
  threads: Threads
  words: TakenWords
  ends: TakenEnds
  receipts: TakenReceipts
  counterSignatures: CounterSignatures
  leave: TakenLeave
}

export class TaskSteps {
  readonly #parts: StepParts

  constructor(parts: StepParts) {
    this.#parts = parts
  }

  /** The task as it stands afterwards; undefined when the message may not come now. */
  take(held: Interaction, message: AnyPayload): Interaction | undefined {
    const { threads, words, ends, receipts, counterSignatures, leave } = this.#parts
    const interaction = held.state === 'expired' && isNumbered(message.kind) ? reopened(threads, held) : held
    switch (message.kind) {
      case kinds.result:
      case kinds.message:
      case kinds.quote:
        return words.take(interaction, message)
      case kinds.end:
        return ends.propose(interaction, message.payload)
      case kinds.acceptEnd:
        return ends.accept(interaction, message.payload)
      case kinds.receipt:
        return receipts.take(interaction, message.payload.receipt)
      case kinds.noReceipt:
        return takeNoReceipt(threads, interaction, message.payload)
      case kinds.settlements:
        return words.takeSettlements(interaction, message.payload)
      case kinds.counterSignature:
        return counterSignatures.take(interaction, message.payload)
      case kinds.declined:
      case kinds.cancelled:
        return leave.take(interaction, message)
      default:
        return interaction
    }
  }
}
