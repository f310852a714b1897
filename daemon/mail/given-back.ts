/**
 * What a correspondent that was restored gets once more: the messages of a task above the last that it holds, this side's
 * receipt, and the counter-signature together with the receipt that it signs.
 */
import { numbersSentSince } from '../store/correspondents.ts'
import { sentAbove } from '../store/messages.ts'
import type { Store } from '../store/open.ts'
import type { Interaction, Threads } from '../store/threads.ts'
import type { CounterSigner } from '../tasks/counter-signer.ts'
import { isRequester } from '../tasks/standing.ts'

/** Messages of one task that go once more for one question. */
const AGAIN_MAX = 1024
/** Within a day a correspondent gets something back for so many questions: one that asks for ever gets no more. */
const QUESTIONS_PER_DAY_MAX = 16
const DAY_MS = 86_400_000

type GivenParts = { store: Store; threads: Threads; counterSigner: CounterSigner }

export class GivenBack {
  readonly #parts: GivenParts
  readonly #now: () => number

  constructor(parts: GivenParts, now: () => number) {
    this.#parts = parts
    this.#now = now
  }

  /** Whether what this peer asks for is sent again: it was not asked for too often. */
  mayGive(peer: string): boolean {
    return numbersSentSince(this.#parts.store, peer, this.#now() - DAY_MS) < QUESTIONS_PER_DAY_MAX
  }

  /** Sends again what the other side says that it does not hold. */
  give(interaction: Interaction, held: number): void {
    const { store, threads, counterSigner } = this.#parts
    for (const key of sentAbove(store, interaction.key, { above: held, max: AGAIN_MAX }))
      threads.sendOnceMore(key)
    if (isRequester(interaction)) counterSigner.remake(interaction, { withReceipt: true })
  }
}
