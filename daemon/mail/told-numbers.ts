/** Questions about numbers, answers and losses, as correspondents send them. */
import { toBase64url } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import type { MessageBody } from '../../protocol/mail/message.ts'
import { DIGESTS_MAX, DIGESTS_OF_ALL_MAX, type Numbers } from '../../protocol/mail/numbers.ts'
import type { Waker } from '../platform/waker.ts'
import { isNumberOpen } from '../store/interactions.ts'
import { digestsAbove } from '../store/messages.ts'
import type { Store } from '../store/open.ts'
import { noteAnswered } from '../store/restores.ts'
import type { Interaction, Threads } from '../store/threads.ts'
import type { GivenBack } from './given-back.ts'
import { type LostTasks, lostOf, queueNumbers, sinceThen } from './lost-tasks.ts'
import type { AskedNumbers } from './numbers.ts'
import type { Renumbering } from './renumbering.ts'

/** What happened this long before an archive was made may be missing in it, as the two clocks differ. */
const CLOCKS_MS = 3_600_000

/** What this node answers a correspondent that was restored. */
export class NumberAnswers {
  readonly #store: Store
  readonly #threads: Threads
  readonly #givenBack: GivenBack

  constructor(store: Store, threads: Threads, givenBack: GivenBack) {
    this.#store = store
    this.#threads = threads
    this.#givenBack = givenBack
  }

  answer({ from, messageId }: MessageBody, { asks = [], restoredAtMs = 0 }: Numbers): void {
    const [store, threads, givenBack] = [this.#store, this.#threads, this.#givenBack]
    let room = DIGESTS_OF_ALL_MAX
    const mayHave = givenBack.mayGive(from)
    const holds = asks.flatMap(({ interactionId, after, held }) => {
      const interaction = threads.findById(toBase64url(interactionId))
      if (interaction?.peer !== from) return []
      const max = Math.min(DIGESTS_MAX, room)
      const digests = digestsAbove(store, interaction.key, { direction: 'in', above: after, max })
      room -= digests.length
      if (mayHave) givenBack.give(interaction, held)
      const last = lastOf(interaction)
      return [{ interactionId, highest: interaction.heldHighest, digests, ...present({ last }) }]
    })
    const since = restoredAtMs === 0 ? { since: [] } : sinceThen(store, from, restoredAtMs - CLOCKS_MS)
    queueNumbers(threads, from, { answers: messageId, holds, ...since })
  }
}

/** The last message of the other side in the transcript, and whether it proposed the end. */
const lastOf = ({ peerLast, heldHighest, endBy }: Interaction): [number, boolean] | undefined =>
  peerLast === null || peerLast > heldHighest ? undefined : [peerLast, endBy === 'peer']

type ToldParts = {
  store: Store
  threads: Threads
  asked: AskedNumbers
  answers: NumberAnswers
  lostTasks: LostTasks
  renumbering: Renumbering
}

export class ToldNumbers {
  readonly #parts: ToldParts
  readonly #spending: Waker

  /** `spending`: prices wait for what a payee says that it was paid. */
  constructor(parts: ToldParts, spending: Waker) {
    this.#parts = parts
    this.#spending = spending
  }

  /** Takes a question, an answer or a loss; false for an answer to nothing that was asked. */
  take(body: MessageBody, numbers: Numbers): boolean {
    const { store, threads, asked, answers, lostTasks, renumbering } = this.#parts
    const { from } = body
    if (numbers.restoredAtMs !== undefined) answers.answer(body, numbers)
    for (const id of numbers.lost ?? []) lostTasks.takeLoss(from, toBase64url(id))
    if (numbers.answers === undefined) return true
    const question = asked.question(from, numbers.answers)
    if (question === undefined) return false
    const told = new Map((numbers.holds ?? []).map(one => [toBase64url(one.interactionId), one]))
    for (const { interactionId } of question.asks ?? []) {
      const interaction = threads.findById(toBase64url(interactionId))
      if (interaction?.peer === from && isNumberOpen(interaction))
        renumbering.take(interaction, told.get(interaction.id))
    }
    noteAnswered(store, from, question.at)
    lostTasks.name(from, lostOf(numbers))
    store.afterCommit(() => this.#spending.wake())
    return true
  }

  /** The next word of a peer that does not know the question says what it holds, as far as it has no gap. */
  takeWord({ key }: Interaction, { tsMs, storedUpTo, from }: MessageBody): void {
    const { threads, asked, renumbering } = this.#parts
    const interaction = threads.byKey(key)
    if (interaction.numbering === 'awaiting' && asked.wasAskedBefore(from, tsMs))
      renumbering.goOn(interaction, { highest: storedUpTo, digests: [] })
  }
}
