/** The turns that wait for an automatic answer, and the one answer to each. */
import { Readable } from 'node:stream'
import type { WaitingThread } from '../../autoreply/answering.ts'
import type { BackendRequest, MadeFile } from '../../autoreply/backend.ts'
import type { Attachment } from '../../protocol/mail/message.ts'
import { kinds } from '../../protocol/mail/payload.ts'
import type { Attachments } from '../attachments/attachments.ts'
import type { PricedAnswers } from '../payments/priced-tasks.ts'
import type { Events } from '../platform/events.ts'
import { refuse } from '../refusal.ts'
import type { Store } from '../store/open.ts'
import { markBegun, paymentOf } from '../store/payments.ts'
import type { Interaction, Threads } from '../store/threads.ts'
import { lastWord } from '../store/transcripts.ts'
import type { BackendRequests } from './auto-reply-threads.ts'
import { maySend } from './conversation.ts'
import type { Endings } from './endings.ts'
import { textMessage } from './messages.ts'

type AnswerParts = {
  store: Store
  threads: Threads
  attachments: Attachments
  requests: BackendRequests
  answers: PricedAnswers
  endings: Endings
}

export class AutoAnswers {
  readonly #parts: AnswerParts
  readonly #events: Events
  readonly #hubNow: () => number

  constructor(parts: AnswerParts, events: Events, hubNow: () => number) {
    this.#parts = parts
    this.#events = events
    this.#hubNow = hubNow
  }

  /** What a backend is asked in a thread. */
  request({ interactionId }: WaitingThread, historyMax: number): BackendRequest {
    const { store, threads, requests } = this.#parts
    const interaction = threads.findById(interactionId) ?? refuse('unknown_interaction', interactionId)
    // a withdrawal costs something from here on
    if (paymentOf(store, interaction.key)?.state === 'held')
      store.transaction(() => markBegun(store, interaction.key, this.#hubNow()), 'node.payment')
    return requests.of(interaction, historyMax)
  }

  /** Commits the one answer to a turn; whoever answered it in the meantime wins. */
  async answer(thread: WaitingThread, text: string, files: readonly MadeFile[]): Promise<boolean> {
    const attachments = await this.#taken(files)
    const { store, threads, answers } = this.#parts
    return store.transaction(() => {
      const interaction = threads.findById(thread.interactionId)
      if (interaction === undefined || !maySend(interaction)) return false
      const last = lastWord(store, interaction.key)
      if (last === undefined || last.direction === 'out' || last.number !== thread.turn) return false
      const said = answers.queue(interaction, textMessage(text, attachments, true))
      threads.update(said.interaction, { autoReplies: interaction.autoReplies + 1 })
      const about = { interaction_id: interaction.id, kind: kinds.message }
      store.afterCommit(() => this.#events.emit('message', about))
      return true
    }, 'node.auto-reply')
  }

  /** What a run left to be sent, as attachments; the secrets of this node were looked for in it. */
  async #taken(files: readonly MadeFile[]): Promise<Attachment[]> {
    const { attachments } = this.#parts
    const taken: Attachment[] = []
    for (const { name, content } of files) {
      const { path } = await attachments.uploads.take(name, Readable.from([content]))
      taken.push(attachments.take(path))
      attachments.uploads.spent([path])
    }
    return taken
  }

  proposeEnd(thread: WaitingThread): void {
    const { endings } = this.#parts
    this.#step(thread, interaction => endings.propose(interaction))
  }

  acceptEnd(thread: WaitingThread): void {
    const { endings } = this.#parts
    this.#step(thread, interaction => endings.accept(interaction))
  }

  #step({ interactionId }: WaitingThread, step: (interaction: Interaction) => Interaction): void {
    const { store, threads } = this.#parts
    store.transaction(() => {
      const interaction = threads.findById(interactionId)
      if (interaction !== undefined && interaction.ownLast === null) step(interaction)
    }, 'node.auto-end')
  }
}
