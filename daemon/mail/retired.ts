/**
 * Messages signed under a key that was retired since, without evidence of an earlier time (objects: identity): readers
 * of the thread see them with that mark and nothing else happens. They take no number and no place in the transcript.
 */
import { Malformed, toBase64url } from '../../protocol/encoding/bytes.ts'
import { type MessageBody, messagePayload } from '../../protocol/mail/message.ts'
import { kinds } from '../../protocol/mail/payload.ts'
import type { Contacts } from '../peers/contacts.ts'
import type { Events } from '../platform/events.ts'
import { insertRetired } from '../store/messages.ts'
import type { Store } from '../store/open.ts'
import type { Interaction, Threads } from '../store/threads.ts'
import { retiredCount } from '../store/transcripts.ts'
import { readableText } from './reading.ts'

const KEPT_PER_INTERACTION_MAX = 20

type RetiredParts = { store: Store; contacts: Contacts; threads: Threads; events: Events }

export class RetiredWords {
  readonly #parts: RetiredParts
  readonly #now: () => number

  constructor(parts: RetiredParts, now: () => number) {
    this.#parts = parts
    this.#now = now
  }

  /** Keeps such a message for readers; its sender may send it again under the new key. */
  keep(body: MessageBody, digest: Uint8Array): void {
    const { store, contacts, threads, events } = this.#parts
    if (body.interactionId === undefined || contacts.isBlocked(body.from)) return
    const interaction = threads.findById(toBase64url(body.interactionId))
    if (interaction === undefined || interaction.peer !== body.from) return
    const text = textOf(body)
    if (text === undefined) return
    store.transaction(() => this.#insert(interaction, body, { digest, text }), 'node.retired')
    events.emit('message', { interaction_id: interaction.id, kind: body.kind })
  }

  #insert(interaction: Interaction, body: MessageBody, facts: { digest: Uint8Array; text: string }): void {
    const { store } = this.#parts
    if (retiredCount(store, interaction.key) >= KEPT_PER_INTERACTION_MAX) return
    insertRetired(store, interaction.key, body, { ...facts, at: this.#now() })
  }
}

function textOf(body: MessageBody): string | undefined {
  try {
    const message = messagePayload(body)
    return message.kind === kinds.delegate ? undefined : readableText(message, body.attachments)
  } catch (error) {
    if (error instanceof Malformed) return undefined
    throw error
  }
}
