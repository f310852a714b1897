/** Kinds of messages by who says them, and by whether they stand in the transcript. */
import type { MessageBody } from '../../protocol/mail/message.ts'
import { type AnyPayload, kinds } from '../../protocol/mail/payload.ts'
import type { Interaction } from '../store/threads.ts'
import { isRequester } from '../tasks/standing.ts'

/** What only a provider says, and only its requester. */
const PROVIDER_KINDS: ReadonlySet<number> = new Set([
  kinds.result,
  kinds.receipt,
  kinds.quote,
  kinds.declined,
  kinds.settlements,
  kinds.noReceipt,
])
const REQUESTER_KINDS: ReadonlySet<number> = new Set([kinds.counterSignature, kinds.cancelled])

export const isOfProvider = (kind: number): boolean => PROVIDER_KINDS.has(kind)

export function isRoleRight(interaction: Interaction, { kind }: AnyPayload): boolean {
  return !(isRequester(interaction) ? REQUESTER_KINDS : PROVIDER_KINDS).has(kind)
}

/** Steps that come once at most and bring nothing to read. */
export const isStep = (kind: number): boolean =>
  kind === kinds.cancelled || kind === kinds.end || kind === kinds.acceptEnd

/** What stands outside of the transcript: the receipt or why there is none, its counter-signature, the hub's later word. */
const UNNUMBERED_KINDS: ReadonlySet<number> = new Set([
  kinds.receipt,
  kinds.counterSignature,
  kinds.settlements,
  kinds.noReceipt,
])
export const isNumbered = (kind: number): boolean => !UNNUMBERED_KINDS.has(kind)

/** What a message takes of the disk. */
export const bytesOf = (body: MessageBody): number =>
  body.attachments.reduce((sum, { size }) => sum + size, body.payload.length)
