/** Interactions as the control interface shows them: summaries, turns, receipts, deliveries. Reads only. */

import type * as z from 'zod'
import type {
  Delivery,
  InteractionSummary,
  receiptSummary,
  Turn,
  threadShape,
} from '../../protocol/control/shapes.ts'
import { cidText } from '../../protocol/crypto/hash.ts'
import { toBase64url } from '../../protocol/encoding/bytes.ts'
import { plainLine } from '../../protocol/encoding/plain-text.ts'
import { present } from '../../protocol/encoding/present.ts'
import { type Kind, kinds } from '../../protocol/mail/payload.ts'
import { Receipt, receiptId } from '../../protocol/proof/receipt.ts'
import type { Attachments } from '../attachments/attachments.ts'
import { attachmentFileName } from '../attachments/file-names.ts'
import { LOST_BY_PEER, LOST_BY_REQUESTER } from '../hubs/failures.ts'
import type { Contacts } from '../peers/contacts.ts'
import { type Glimpse, PREVIEW_CHARACTERS } from '../store/glimpses.ts'
import { anewOf, isArchived, isLocal } from '../store/interactions.ts'
import type { Store } from '../store/open.ts'
import { isHeld, isNumberInDoubt } from '../store/outbox.ts'
import { paymentOf } from '../store/payments.ts'
import { reviewOf } from '../store/reviews.ts'
import type { Interaction, Message, Threads } from '../store/threads.ts'
import { waitOf } from '../store/transcripts.ts'
import { type ShownMessage, shownMessages } from '../store/turns.ts'
import { maySend } from '../tasks/conversation.ts'
import { mayCancel, mayDecline } from '../tasks/leaving.ts'
import { mayRedelegate } from '../tasks/redelegation.ts'
import { reviewStanding } from '../tasks/reviews.ts'
import { isCut, isRequester, waitingFor } from '../tasks/standing.ts'
import type { PaymentViews } from './payment-views.ts'

const TURN_CHARACTERS_DEFAULT = 100_000
const TURNS_PAGE = 16
const MEDIA_TYPE_CHARACTERS_MAX = 80
/** Texts from here on are worth a file. */
const TEXT_FILE_CHARACTERS_MIN = 4_000

export type ThreadView = z.infer<typeof threadShape>
export type ReceiptSummary = z.infer<typeof receiptSummary>

export const kindNames = Object.fromEntries(
  Object.entries(kinds).map(([name, kind]) => [
    kind,
    name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`),
  ]),
) as Record<Kind, string>

const NUMBER_WAITS =
  'this node was restored from a backup; it waits until the other side says what it holds of this task'

export function deliveryView(
  store: Store,
  message: Pick<Message, 'key' | 'delivery' | 'reason' | 'reasonBy'> & Pick<Glimpse, 'direct'>,
): Delivery {
  const entry = waitOf(store, message.key)
  const doubt = entry?.state === 'queued' && isNumberInDoubt(store, message.key) ? NUMBER_WAITS : undefined
  const waits = doubt === undefined ? [entry?.lastError, entry?.errorBy] : [doubt, 'node']
  const [reason, by] = message.reason === null ? waits : [message.reason, message.reasonBy]
  const held = (entry?.state === 'queued' && isHeld(store, message.key)) || undefined
  return {
    state: message.delivery ?? 'unknown',
    ...present({
      direct: message.direct === 1 || undefined,
      reason: reason ?? undefined,
      reason_own: by === 'node' || undefined,
      held,
      next_try_at: entry === undefined || held ? undefined : Math.ceil(entry.nextAt),
      give_up_at: entry?.deadlineAt,
    }),
  }
}

export function receiptView(interaction: Interaction): ReceiptSummary | undefined {
  if (interaction.receipt === null) return undefined
  const receipt = Receipt.decode(interaction.receipt)
  const verified = isRequester(interaction)
    ? interaction.receiptState === 'signed'
    : interaction.receiptState === 'signed' || interaction.receiptState === 'made'
  return {
    id: receiptId(receipt),
    verified,
    status: receipt.body.status,
    result_cid: cidText(receipt.body.resultCid),
    ...present({
      awaits_counter_signature: interaction.counterSignature === null ? true : undefined,
      fault: interaction.receiptNote ?? undefined,
    }),
  }
}

/** What it means that the other side lost the task, to the side that reads it. */
function sayLost(store: Store, interaction: Interaction): string | undefined {
  if (interaction.lostByPeerAt === null) return undefined
  if (isRequester(interaction)) return LOST_BY_PEER
  const row = paymentOf(store, interaction.key)
  if (row?.state !== 'held' || row.holdUntil === null) return LOST_BY_REQUESTER
  const until = new Date(row.holdUntil).toISOString()
  const sooner = mayDecline(interaction) ? `; svc decline ${interaction.id} gives them back at once` : ''
  return `${LOST_BY_REQUESTER}: the credits that are held for it go back by themselves at ${until}${sooner}`
}

export type ThreadOptions = {
  fromTurn: number
  /** Where the text of the first turn goes on. */
  fromChar?: number | undefined
  maxChars: number | undefined
  ownChars?: number | undefined
  textFiles?: boolean
}

/** How many messages of the other side right before this one are not here. */
function gapBefore({ direction, number }: ShownMessage, missing: ReadonlySet<number>): number {
  let gap = 0
  while (direction === 'in' && missing.has(number - 1 - gap)) gap++
  return gap
}

type Part = { from: number; charactersMax: number; missingBefore: number }

/** A part of a text that ends between characters, and holds at least one. */
function sliceOf(text: string, from: number, charactersMax: number): string {
  const end = from + Math.max(charactersMax, 1)
  const splits = end < text.length && /[\ud800-\udbff]/.test(text.charAt(end - 1))
  return text.slice(from, splits && end - 1 > from ? end - 1 : end + (splits ? 1 : 0))
}

export const messageIdText = (message: Message): string => toBase64url(message.messageId)

type ViewParts = {
  store: Store
  contacts: Contacts
  threads: Threads
  attachments: Attachments
  payments: PaymentViews
  /** Whether a second receipt may take the place of one that was disputed. */
  mayAcceptReceipt: (interaction: Interaction) => boolean
}

export class InteractionViews {
  readonly #store: Store
  readonly #contacts: Contacts
  readonly #threads: Threads
  readonly #attachments: Attachments
  readonly #payments: PaymentViews
  readonly #mayAcceptReceipt: (interaction: Interaction) => boolean

  constructor(parts: ViewParts) {
    this.#store = parts.store
    this.#contacts = parts.contacts
    this.#threads = parts.threads
    this.#attachments = parts.attachments
    this.#payments = parts.payments
    this.#mayAcceptReceipt = parts.mayAcceptReceipt
  }

  summary(interaction: Interaction, seen: Glimpse): InteractionSummary {
    const { own, delivery, reason, reasonBy, direct } = seen
    return {
      interaction_id: interaction.id,
      side: interaction.side,
      peer: interaction.peer,
      peer_name: this.#contacts.petnameOf(interaction.peer),
      state: interaction.state,
      ...this.#standing(interaction),
      created_at: interaction.startedAt,
      last_at: interaction.updatedAt,
      ...present({ capability: interaction.capability ?? undefined }),
      preview: (seen.preview ?? interaction.preview).slice(0, PREVIEW_CHARACTERS),
      ...present({ preview_mine: seen.previewMine === 1 || undefined }),
      unread: seen.unread,
      ...present({ unread_preview: seen.unreadPreview?.slice(0, PREVIEW_CHARACTERS) }),
      attachments: seen.attachments,
      ...present({
        delivery:
          own === null
            ? undefined
            : deliveryView(this.#store, { key: own, delivery, reason, reasonBy, direct }),
      }),
      ...present({
        receipt: receiptView(interaction),
        payment: seen.isPriced === 1 ? this.#payments.of(interaction) : undefined,
      }),
      ...(seen.isReviewed === 1 ? reviewStanding(this.#store, interaction) : {}),
      ...present({ archived: isArchived(interaction) || undefined }),
    }
  }

  /** Why it is as it is, and until when a task that nobody answered yet waits for an answer. */
  #standing(interaction: Interaction): {
    reason?: string
    reason_own?: true
    answer_by?: number
    lost_by_peer_at?: number
    anew_as?: string
    anew_of?: string
  } {
    const { anewAs } = interaction
    const reason = interaction.reason ?? sayLost(this.#store, interaction)
    const isOwn = interaction.reason === null ? reason !== undefined : interaction.reasonBy === 'node'
    const waits =
      isRequester(interaction) && (interaction.state === 'queued' || interaction.state === 'delivered')
    return {
      ...present({
        reason,
        reason_own: isOwn || undefined,
        lost_by_peer_at: interaction.lostByPeerAt ?? undefined,
        anew_as: anewAs === null ? undefined : this.#threads.byKey(anewAs).id,
        anew_of: isRequester(interaction) ? anewOf(this.#store, interaction.key)?.id : undefined,
        answer_by: waits ? interaction.deadlineAt : undefined,
      }),
    }
  }

  /** The conversation from a turn on, cut at a number of characters. */
  thread(interaction: Interaction, options: ThreadOptions): ThreadView {
    const { turns, next } = this.#turnsOf(interaction, options)
    const receipt = receiptView(interaction)
    const payment = this.#payments.of(interaction)
    return {
      interaction_id: interaction.id,
      side: interaction.side,
      peer: interaction.peer,
      peer_name: this.#contacts.petnameOf(interaction.peer),
      state: interaction.state,
      ...this.#standing(interaction),
      ...present({ capability: interaction.capability ?? undefined }),
      sealed: interaction.way !== 'open',
      ...present({ local: isLocal(interaction) || undefined }),
      turns,
      ...present({ next_turn: next }),
      actions: [...this.#actionsOf(interaction), ...(payment?.state === 'open' ? ['approve'] : [])],
      ...present({ waiting_for: waitingFor(interaction), receipt, payment }),
      ...reviewStanding(this.#store, interaction),
    }
  }

  /** The turns of one page, and the turn after them where there is one. */
  #turnsOf(
    interaction: Interaction,
    { fromTurn, fromChar = 0, maxChars = TURN_CHARACTERS_DEFAULT, ownChars, textFiles }: ThreadOptions,
  ): { turns: Turn[]; next?: number } {
    const turns: Turn[] = []
    const missing = new Set(this.#threads.missing(interaction))
    let left = maxChars
    for (const [n, message] of this.#shownFrom(interaction, Math.max(fromTurn, 1))) {
      if (left <= 0) return { turns, next: n }
      const most = message.direction === 'out' ? (ownChars ?? left) : left
      const turn = this.#turnView(message, n, {
        from: turns.length === 0 ? fromChar : 0,
        charactersMax: Math.min(most, left),
        missingBefore: gapBefore(message, missing),
      })
      if (textFiles === true) this.#addFile(turn, message.text)
      turns.push(turn)
      // what is too short for the next character of a text is not spent on the words after it
      left = turn.next_char !== undefined && most >= left ? 0 : left - turn.text.length
    }
    return { turns }
  }

  /** A long text of the other side as a file; on a full disk it is read without. */
  #addFile(turn: Turn, text: string): void {
    if (turn.mine || text.length < TEXT_FILE_CHARACTERS_MIN) return
    this.#store.attempt(() => {
      turn.text_file = this.#attachments.keepText(text)
    })
  }

  /** Turns with their numbers, read a page at a time: a thread may hold a hundred thousand. */
  *#shownFrom(interaction: Interaction, from: number): Generator<[number, ShownMessage]> {
    for (let n = from; ; ) {
      const page = shownMessages(this.#store, interaction, { skip: n - 1, limit: TURNS_PAGE })
      for (const message of page) yield [n++, message]
      if (page.length < TURNS_PAGE) return
    }
  }

  #turnView(message: ShownMessage, n: number, part: Part): Turn {
    const { from, charactersMax, missingBefore } = part
    const mine = message.direction === 'out'
    const text = sliceOf(message.text, from, charactersMax)
    const end = Math.min(from, message.text.length) + text.length
    const isPart = text.length < message.text.length
    return {
      n,
      from: message.sender,
      mine,
      kind: kindNames[message.kind],
      at: message.at,
      text,
      ...present({
        truncated: isPart || undefined,
        chars: isPart ? message.text.length : undefined,
        next_char: end < message.text.length ? end : undefined,
      }),
      attachments: this.#threads.attachmentsOf(message.key).map(({ name, mediaType, size, cid }) => ({
        name: attachmentFileName(name),
        media_type: plainLine(mediaType, MEDIA_TYPE_CHARACTERS_MAX),
        bytes: size,
        cid: cidText(cid),
        path: this.#attachments.find(cidText(cid)) ?? null,
      })),
      ...present({
        delivery: mine ? deliveryView(this.#store, message) : undefined,
        auto: message.auto === 1 || undefined,
        retired_key: message.retired === 1 || undefined,
        missing_before: missingBefore || undefined,
      }),
    }
  }

  /** What makes sense now. */
  #actionsOf(interaction: Interaction): string[] {
    const actions: string[] = []
    if (interaction.state === 'pending') actions.push('approve', 'decline')
    if (maySend(interaction)) {
      actions.push('message')
      actions.push(interaction.endBy === 'peer' ? 'accept_end' : 'end')
      if (!isRequester(interaction)) actions.push('decline')
    }
    if (mayCancel(interaction)) actions.push('cancel')
    if (mayRedelegate(interaction)) actions.push('anew')
    const isReviewable =
      isRequester(interaction) && isCut(interaction) && interaction.receiptState === 'signed'
    if (isReviewable && reviewOf(this.#store, interaction.key) === undefined) actions.push('review')
    if (isRequester(interaction) && this.#mayAcceptReceipt(interaction)) actions.push('accept_receipt')
    return actions
  }
}
