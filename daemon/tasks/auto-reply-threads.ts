/** The threads that wait for an automatic answer, and what a backend is asked in one. */
import type { WaitingThread } from '../../autoreply/answering.ts'
import type { BackendRequest, ConversationTurn } from '../../autoreply/backend.ts'
import { cidText } from '../../protocol/crypto/hash.ts'
import type { Attachments } from '../attachments/attachments.ts'
import type { Settings } from '../home/settings.ts'
import type { CurrentHub } from '../hubs/current.ts'
import type { Identity } from '../identity/identity.ts'
import type { Contacts } from '../peers/contacts.ts'
import type { Store } from '../store/open.ts'
import type { Interaction, Threads } from '../store/threads.ts'
import { lastWords, unansweredThreads } from '../store/transcripts.ts'
import { guestsOf } from './guests.ts'

const WAITING_MAX = 1000
const THREADS_PER_PEER_MAX = 10

type WaitingParts = { identity: Identity; hub: CurrentHub; settings: Settings; store: Store }

export class UnansweredThreads {
  readonly #parts: WaitingParts

  constructor(parts: WaitingParts) {
    this.#parts = parts
  }

  /** One look at the store, whatever lies there unanswered; a few threads of each peer, so that none crowds out others. */
  list(): WaitingThread[] {
    const { identity, hub, settings, store } = this.#parts
    if (identity.log.deactivated || hub.oldCopy !== undefined) return []
    const strangers = settings.current.auto_reply?.strangers === true
    const rows = unansweredThreads(store, {
      strangers,
      guestsOf: guestsOf(settings.current, hub),
      ...{ perPeerMax: THREADS_PER_PEER_MAX, max: WAITING_MAX },
    })
    return rows.map(row => ({
      interactionId: row.id,
      peer: row.peer,
      turn: row.number,
      autoReplies: row.autoReplies,
      endProposed: row.endBy === 'peer' && row.direction === 'out',
      hasImage: row.hasImage === 1,
    }))
  }
}

type RequestParts = {
  store: Store
  threads: Threads
  contacts: Contacts
  attachments: Attachments
  settings: Settings
}

export class BackendRequests {
  readonly #parts: RequestParts

  constructor(parts: RequestParts) {
    this.#parts = parts
  }

  /** What a backend is asked: the words of both sides, and what came with them. */
  of(interaction: Interaction, historyMax: number): BackendRequest {
    const { store, threads, contacts, attachments, settings } = this.#parts
    const turns = lastWords(store, interaction.key, historyMax).map(
      (message): ConversationTurn => ({
        role: message.direction === 'in' ? 'peer' : 'me',
        text: message.text,
        attachments: threads.attachmentsOf(message.key).map(({ name, mediaType, size, cid }) => ({
          name,
          mediaType,
          bytes: size,
          path: attachments.find(cidText(cid)) ?? null,
        })),
      }),
    )
    return {
      interactionId: interaction.id,
      peer: interaction.peer,
      peerName: contacts.petnameOf(interaction.peer),
      turns,
      systemPrompt: settings.current.auto_reply?.system_prompt,
    }
  }
}
