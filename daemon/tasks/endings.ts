/**
 * How a task ends: one side proposes it, the other agrees. Both last messages together are the cut of the transcript.
 * Everything runs inside a transaction of its caller.
 */
import { present } from '../../protocol/encoding/present.ts'
import { decodePayload, encodePayload, kinds, type Payload } from '../../protocol/mail/payload.ts'
import { refuse } from '../refusal.ts'
import { isLocal, isNumberOpen } from '../store/interactions.ts'
import { newestOfKind } from '../store/messages.ts'
import type { Store } from '../store/open.ts'
import type { Interaction, Message, Threads } from '../store/threads.ts'
import { hasComeOrPrice, hasProposedEnd } from '../store/transcripts.ts'
import { maySend, requireApproval } from './conversation.ts'
import type { TaskNews } from './news.ts'
import { failLacked } from './not-taken.ts'
import type { OwnReceipts } from './receipt-provider.ts'
import type { HeldReceipts } from './receipt-requester.ts'
import { failAbove, isCut, isRequester } from './standing.ts'

type EndingParts = {
  store: Store
  threads: Threads
  news: TaskNews
  ownReceipts: OwnReceipts
  heldReceipts: HeldReceipts
}

export class Endings {
  readonly #parts: EndingParts
  readonly #hubNow: () => number

  constructor(parts: EndingParts, hubNow: () => number) {
    this.#parts = parts
    this.#hubNow = hubNow
  }

  /** Proposes the end: after it this side sends nothing more but the answer to a crossing proposal. */
  propose(interaction: Interaction): Interaction {
    const { store, threads } = this.#parts
    requireApproval(interaction)
    if (interaction.endBy === 'peer') return this.accept(interaction)
    if (!maySend(interaction))
      refuse('wrong_state', `this interaction is ${interaction.state}; it cannot be ended now`)
    if (isLocal(interaction)) return this.#endLocally(interaction)
    const lost = lostStep(store, interaction)
    if (lost !== undefined) return this.#told(this.#repeatLost(interaction, lost))
    const number = interaction.numbered + 1
    const payload: Payload<3> = {
      number,
      peerHighest: interaction.heldHighest,
      missing: threads.missing(interaction),
    }
    const queued = threads.queue(interaction, {
      kind: kinds.end,
      payload: encodePayload(kinds.end, payload),
      text: '',
      numbered: true,
    })
    const proposed = threads.update(queued.interaction, {
      state: 'end_proposed',
      endBy: 'me',
      ownLast: number,
      ownEndAt: this.#hubNow(),
    })
    return this.#told(proposed)
  }

  /** Nobody on another machine has to agree to the end of what came over a local interface. */
  #endLocally(interaction: Interaction): Interaction {
    const { threads, news } = this.#parts
    const over = { state: 'ended', endBy: 'me', ownLast: interaction.numbered } as const
    const ended = threads.update(interaction, over)
    news.heard(ended)
    return ended
  }

  /** Accepts the peer's proposal; with it the transcript is complete, and the provider signs the receipt. */
  accept(interaction: Interaction): Interaction {
    const { store, threads } = this.#parts
    requireApproval(interaction)
    if (interaction.endBy !== 'peer' || interaction.peerLast === null || isCut(interaction))
      refuse('wrong_state', 'the other side has not proposed the end')
    if (isNumberOpen(interaction))
      refuse(
        'wrong_state',
        'this node was restored from a backup, and the other side has not said yet what it holds of this task; the node has asked, try again later',
      )
    const lost = lostStep(store, interaction)
    if (lost !== undefined) return this.#told(this.#repeatLost(interaction, lost))
    const number = interaction.numbered + 1
    const payload: Payload<4> = {
      endNumber: interaction.peerLast as number,
      number,
      peerHighest: interaction.heldHighest,
      missing: threads.missing(interaction),
    }
    const queued = threads.queue(interaction, {
      kind: kinds.acceptEnd,
      payload: encodePayload(kinds.acceptEnd, payload),
      text: '',
      numbered: true,
    })
    const cut = threads.update(queued.interaction, { ownLast: number, ownEndAt: this.#hubNow() })
    return this.#told(this.#conclude(cut))
  }

  /** The peer proposed the end. If two proposals cross, the requester's counts. Undefined when the cut is made. */
  takeEnd(interaction: Interaction, payload: Payload<3>): Interaction | undefined {
    const { store, threads } = this.#parts
    if (interaction.endBy === 'me' && isRequester(interaction)) return interaction
    if (isCut(interaction)) return undefined
    const lists = { peerLast: payload.number, peerLacks: JSON.stringify(payload.missing) }
    // a copy of this node that is lost has accepted it
    if (interaction.endBy === 'peer' && interaction.ownLast !== null)
      return this.#conclude(threads.update(interaction, lists))
    const crossed = interaction.endBy === 'me'
    const proposed = threads.update(interaction, {
      // What waits for approval goes on waiting for it.
      state: interaction.state === 'pending' ? 'pending' : 'end_proposed',
      endBy: 'peer',
      ...lists,
      ...present({ ownLast: crossed ? null : undefined }),
    })
    const agrees = crossed || (isRequester(proposed) && isAnswered(store, proposed))
    return agrees && !isNumberOpen(proposed) ? this.accept(proposed) : proposed
  }

  /**
   * Agrees to an end that waited for certain numbers: where this side proposed it too, has the whole answer, or answers a call
   * that a lost copy had ended. An end that it proposed meanwhile is the one that a lost copy had proposed, where there was one.
   */
  agreeIfDue(interaction: Interaction): void {
    const { store } = this.#parts
    const { key, state, endBy, ownLast } = interaction
    if (isCallUnderWay(interaction)) {
      const lost = lostStep(store, interaction)
      if (lost !== undefined) this.#repeatLost(interaction, lost)
      return
    }
    if (state !== 'end_proposed' || isCut(interaction)) return
    if (endBy === 'me') {
      const lost = lostStep(store, interaction)
      if (lost === undefined) this.#takeHeldAcceptance(interaction)
      else this.#repeatLost(interaction, lost)
    }
    if (endBy !== 'peer' || ownLast !== null) return
    if (hasProposedEnd(store, key) || (isRequester(interaction) && isAnswered(store, interaction)))
      this.accept(interaction)
  }

  /**
   * The peer accepted our proposal; undefined when it names another message than our `end`, or did so before. While own numbers
   * are in doubt it is only kept: it may be about an end of a copy that is lost.
   */
  takeAcceptance(interaction: Interaction, payload: Payload<4>): Interaction | undefined {
    const { threads } = this.#parts
    if (isCut(interaction)) return undefined
    if (isNumberOpen(interaction)) return interaction
    if (interaction.endBy !== 'me' || payload.endNumber !== interaction.ownLast) return undefined
    return this.#conclude(
      threads.update(interaction, { peerLast: payload.number, peerLacks: JSON.stringify(payload.missing) }),
    )
  }

  /** Ends the task where the lost copy ended it, with its number: what was said since can't arrive. */
  #repeatLost(interaction: Interaction, { number, kind }: Message): Interaction {
    const { store, threads, heldReceipts } = this.#parts
    failAbove(store, threads, interaction, number)
    const ended = threads.update(interaction, {
      state: 'end_proposed',
      endBy: kind === kinds.end ? 'me' : 'peer',
      ownLast: number,
      ownEndAt: this.#hubNow(),
    })
    if (isCut(ended)) {
      const over = this.#conclude(ended)
      heldReceipts.settleWaiting(over)
      return threads.byKey(over.key)
    }
    return kind === kinds.end ? this.#takeHeldAcceptance(ended) : ended
  }

  /** The acceptance of an end that came before it was known which of this side's ends it is about. */
  #takeHeldAcceptance(interaction: Interaction): Interaction {
    const { store } = this.#parts
    const message = newestOfKind(store, interaction.key, 'in', kinds.acceptEnd)
    const held = message === undefined ? undefined : decodePayload(message.kind, message.payload)
    if (held?.kind !== kinds.acceptEnd) return interaction
    return this.takeAcceptance(interaction, held.payload) ?? interaction
  }

  /** Both last messages are here: the task is over, and its provider signs. */
  #conclude(interaction: Interaction): Interaction {
    const { store, threads, ownReceipts } = this.#parts
    const ended = threads.update(interaction, { state: 'ended' })
    failLacked(store, threads, ended)
    return isRequester(ended) || ended.receiptState === 'signed' ? ended : ownReceipts.make(ended)
  }

  /** Tells every client the state after a step of this side; what the other side did is told with its message. */
  #told(interaction: Interaction): Interaction {
    this.#parts.news.step(interaction)
    return interaction
  }
}

/** A call that this node answers: no person ends it, the node does with its answer. */
const isCallUnderWay = (interaction: Interaction): boolean =>
  !isRequester(interaction) && interaction.capability !== null && interaction.state === 'open'

/** The step with which a lost copy ended the task, as the other side says: it counts once this side wants the end too. */
function lostStep(store: Store, { key }: Interaction): Message | undefined {
  const steps = [kinds.acceptEnd, kinds.end].map(kind => newestOfKind(store, key, 'out', kind))
  return steps.find(step => step?.claimed === 1)
}

/** Whether what came is the whole answer: the result of a call, or a price. */
const isAnswered = (store: Store, { key, capability }: Interaction): boolean =>
  hasComeOrPrice(store, key, capability === null ? kinds.quote : kinds.result)
