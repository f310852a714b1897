/**
 * Interactions with their messages: numbers, what is held and what is missing. Every write here happens inside a
 * transaction of its caller; what an interaction may do next is decided elsewhere.
 */

import { fromBase64url, toBase64url } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import { type Attachment, MESSAGE_ID_BYTES, messageDigest } from '../../protocol/mail/message.ts'
import type { Kind } from '../../protocol/mail/payload.ts'
import { wordKinds } from '../../protocol/mail/payload.ts'
import {
  type Changes,
  createInteraction,
  findInteraction,
  findInteractionById,
  type Interaction,
  interactionAt,
  isLocal,
  type NewInteraction,
  unfinishedInteractions,
  updateInteraction,
} from './interactions.ts'
import {
  attachmentsOf,
  type DeliveryState,
  type Incoming,
  insertIncoming,
  insertOutgoing,
  type Message,
  messageAt,
  messageByNumber,
  messagesOf,
  putInPlace,
  renumberOutgoing,
  rewriteOutgoing,
  unseenAbove,
  writeDelivery,
} from './messages.ts'
import type { Store } from './open.ts'
import { enqueue, holdBack, hurryEntries, isUnseen, outboxEntry, removeEntry, sendAgainAt } from './outbox.ts'
import { ownReason } from './reasons.ts'

export { ANSWER_DEADLINE_MS, type Interaction } from './interactions.ts'
export type { DeliveryState, Message } from './messages.ts'

/** How long a message is tried before its delivery is called unknown. */
export const MESSAGE_DEADLINE_MS = 28 * 86_400_000
const HANDLE_SECRET_BYTES = 32
const MISSING_MAX = 1024
const MESSAGES_READ_MAX = 100_000

export type Outgoing = {
  kind: Kind
  payload: Uint8Array
  /** What a reader and the full-text search see. */
  text: string
  numbered: boolean
  attachments?: readonly Attachment[]
  auto?: boolean
}

export type ThreadInputs = {
  now: () => number
  random: (length: number) => Uint8Array
  /** Called once a new outgoing message is durable; with the id of its task where it is a word or a step in one. */
  onQueued: (interactionId?: string) => void
}

const FINAL_STATES: readonly DeliveryState[] = ['delivered', 'failed', 'unknown']

export class Threads {
  #store: Store
  #own: { readonly aid: string }
  #inputs: ThreadInputs

  constructor(store: Store, own: { readonly aid: string }, inputs: ThreadInputs) {
    this.#store = store
    this.#own = own
    this.#inputs = inputs
  }

  find(delegator: string, id: string): Interaction | undefined {
    return findInteraction(this.#store, delegator, id)
  }

  findById(id: string): Interaction | undefined {
    return findInteractionById(this.#store, id)
  }

  byKey(key: number): Interaction {
    return interactionAt(this.#store, key)
  }

  /** Interactions in which something may still happen, in the order in which they began. */
  unfinished(): Interaction[] {
    return unfinishedInteractions(this.#store)
  }

  create(row: NewInteraction): Interaction {
    return createInteraction(this.#store, row, this.#inputs.now())
  }

  /** Writes changes and returns the interaction as it now stands. */
  update(interaction: Interaction, changes: Changes): Interaction {
    return updateInteraction(this.#store, interaction, changes, this.#inputs.now())
  }

  /** Adds an outgoing message to the thread and the outbox; its number, id and digest never change again. */
  queue(interaction: Interaction, outgoing: Outgoing): { message: Message; interaction: Interaction } {
    const number = outgoing.numbered ? interaction.numbered + 1 : 0
    const message = this.#insertOut(interaction.peer, interaction, number, outgoing)
    const changes = outgoing.numbered ? { numbered: number } : {}
    return { message, interaction: this.update(interaction, changes) }
  }

  /** Completes a message that nobody has seen, and lets it go; false when it is on its way already. */
  complete(message: Message, payload: Uint8Array): boolean {
    if (!isUnseen(this.#store, message.key)) return false
    const { now, onQueued } = this.#inputs
    const { recipient: to, messageId, kind, number, interaction } = message
    const attachments = this.attachmentsOf(message.key)
    const interactionId = interaction === null ? undefined : fromBase64url(this.byKey(interaction).id)
    const named = { from: this.#own.aid, to, messageId, kind, number, payload, attachments }
    const digest = messageDigest({ ...named, ...present({ interactionId }) })
    rewriteOutgoing(this.#store, message.key, { payload, digest })
    holdBack(this.#store, message.key, now())
    this.#store.afterCommit(() => onQueued())
    return true
  }

  /**
   * Gives the messages of this side that nobody has seen numbers above `base`; `numbersOf` writes those that a payload
   * names. What was numbered up to `certainTo` keeps its number.
   */
  renumber(
    interaction: Interaction,
    base: number,
    rewrite: (message: Message, number: number) => Uint8Array,
  ): Interaction {
    const { key, certainTo } = interaction
    const unseen = unseenAbove(this.#store, key, certainTo ?? 0)
    let number = Math.max(base, interaction.numbered - unseen.length) + unseen.length
    let { ownLast } = interaction
    const numbered = number
    for (const message of unseen) {
      const { recipient: to, messageId, kind } = message
      const payload = rewrite(message, number)
      const attachments = this.attachmentsOf(message.key)
      const interactionId = fromBase64url(interaction.id)
      const named = { from: this.#own.aid, to, messageId, kind, number, payload, attachments, interactionId }
      renumberOutgoing(this.#store, message.key, { number, payload, digest: messageDigest(named) })
      if (message.number === interaction.ownLast) ownLast = number
      number--
    }
    return this.update(interaction, { numbered, ownLast })
  }

  /** Queues a message that belongs to no interaction (kind 8). */
  queueLoose(peer: string, outgoing: Outgoing): Message {
    return this.#insertOut(peer, undefined, 0, outgoing)
  }

  #insertOut(
    peer: string,
    interaction: Interaction | undefined,
    number: number,
    outgoing: Outgoing,
  ): Message {
    const { now, random, onQueued } = this.#inputs
    const at = now()
    const messageId = random(MESSAGE_ID_BYTES)
    const { kind, payload, text } = outgoing
    const attachments = [...(outgoing.attachments ?? [])]
    const interactionId = interaction === undefined ? undefined : fromBase64url(interaction.id)
    const named = { from: this.#own.aid, to: peer, messageId, kind, number, payload, attachments }
    const digest = messageDigest({ ...named, ...present({ interactionId }) })
    const key = insertOutgoing(
      this.#store,
      {
        interaction: interaction?.key ?? null,
        sender: this.#own.aid,
        recipient: peer,
        messageId,
        kind,
        number,
        at,
        payload,
        digest,
        text,
        auto: outgoing.auto === true ? 1 : 0,
      },
      attachments,
    )
    if (interaction !== undefined && isLocal(interaction)) {
      writeDelivery(this.#store, key, 'delivered', null)
      return this.message(key)
    }
    enqueue(this.#store, {
      message: key,
      peer,
      interaction: interaction?.key ?? null,
      nextAt: at,
      handleSecret: random(HANDLE_SECRET_BYTES),
      deadlineAt: at + MESSAGE_DEADLINE_MS,
    })
    this.#store.afterCommit(() => onQueued(number > 0 ? interaction?.id : undefined))
    return this.message(key)
  }

  /** Tries a message that was given up once more, with all of its time. */
  queueAgain(key: number): void {
    if (writeDelivery(this.#store, key, 'queued', null)) this.sendOnceMore(key)
  }

  /** Sends a message that has left once more, as to a recipient that lost it; what is proven of it stays proven. */
  sendOnceMore(key: number): void {
    const { now, random, onQueued } = this.#inputs
    const { recipient: peer, interaction } = this.message(key)
    const at = now()
    this.#store.afterCommit(() => onQueued())
    const entry = {
      message: key,
      peer,
      interaction,
      nextAt: at,
      handleSecret: random(HANDLE_SECRET_BYTES),
      deadlineAt: at + MESSAGE_DEADLINE_MS,
    }
    if (outboxEntry(this.#store, key) === undefined) enqueue(this.#store, entry)
    else sendAgainAt(this.#store, key, { at, ...ownReason('the recipient was restored') })
  }

  /** What waits because it could only go as a stranger's is tried at once: a capability came. */
  hurry(peer: string): void {
    if (hurryEntries(this.#store, peer, this.#inputs.now()))
      this.#store.afterCommit(() => this.#inputs.onQueued())
  }

  /** Stores a received message and moves the marks of what is held, and of the newest words. */
  storeIncoming(
    interaction: Interaction,
    body: Incoming,
    facts: { digest: Uint8Array; text: string },
  ): { message: Message; interaction: Interaction } {
    const key = insertIncoming(this.#store, interaction.key, body, { ...facts, at: this.#inputs.now() })
    if (body.number < interaction.heldHighest) putInPlace(this.#store, key)
    const heldHighest = Math.max(interaction.heldHighest, body.number)
    let { heldTo } = interaction
    while (this.byNumber(interaction.key, 'in', heldTo + 1) !== undefined) heldTo++
    return {
      message: this.message(key),
      interaction: this.update(interaction, {
        heldTo,
        heldHighest,
        lostByPeerAt: null,
        ...present({ lastIn: wordKinds.includes(body.kind) ? key : undefined }),
      }),
    }
  }

  message(key: number): Message {
    return messageAt(this.#store, key)
  }

  byNumber(interaction: number, direction: 'out' | 'in', number: number): Message | undefined {
    return messageByNumber(this.#store, interaction, direction, number)
  }

  /** Messages of an interaction that count. */
  messages(interaction: number, afterKey = 0, limit = MESSAGES_READ_MAX): Message[] {
    return messagesOf(this.#store, interaction, afterKey, limit)
  }

  attachmentsOf(message: number): Attachment[] {
    return attachmentsOf(this.#store, message)
  }

  /** Numbers of the peer below the highest held that are not here. */
  missing(interaction: Interaction): number[] {
    const missing: number[] = []
    for (let n = interaction.heldTo + 1; n < interaction.heldHighest && missing.length < MISSING_MAX; n++)
      if (this.byNumber(interaction.key, 'in', n) === undefined) missing.push(n)
    return missing
  }

  /** Sets what became of an outgoing message, and why in words of this node; a final state takes it out of the outbox. */
  setDelivery(message: number, state: DeliveryState, reason: string | null = null): boolean {
    const changed = writeDelivery(this.#store, message, state, reason)
    if (FINAL_STATES.includes(state)) removeEntry(this.#store, message)
    return changed
  }
}

export function newInteractionId(random: (length: number) => Uint8Array): string {
  return toBase64url(random(MESSAGE_ID_BYTES))
}
