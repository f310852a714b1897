/** What both sides read of an interaction for its receipt: the answer, and the messages of the cut. */
import { contentId } from '../../protocol/crypto/hash.ts'
import { decodePayload, kinds } from '../../protocol/mail/payload.ts'
import { documentBytes, emptyResult, parseResultDocument } from '../../protocol/proof/documents.ts'
import type { Status } from '../../protocol/proof/effect.ts'
import { coveredNumbers } from '../../protocol/proof/receipt.ts'
import type { Clocks } from '../platform/clock.ts'
import type { Interaction, Message, Threads } from '../store/threads.ts'

export type Result = { bytes: Uint8Array; cid: Uint8Array; status: Status }

export const isAnswer = ({ kind }: Pick<Message, 'kind'>) => kind === kinds.result || kind === kinds.quote

/** The provider's answer among its covered messages: the last result or quote, else the last message, else nothing. */
export function resultOf(covered: readonly Message[]): Result {
  const answer = covered.findLast(isAnswer) ?? covered.findLast(message => message.kind === kinds.message)
  if (answer === undefined) {
    const bytes = documentBytes(emptyResult)
    return { bytes, cid: contentId(bytes), status: 'FAILED' }
  }
  const decoded = decodePayload(answer.kind, answer.payload)
  const bytes = 'document' in decoded.payload ? decoded.payload.document : new Uint8Array(0)
  const document = parseResultDocument(bytes)
  return {
    bytes,
    cid: contentId(bytes),
    status: 'status' in document ? (document.status as Status) : 'UNVERIFIED',
  }
}

/** Messages of one direction in the cut, by number, without those in `missing`. */
export function coveredMessages(
  threads: Threads,
  interaction: Interaction,
  direction: 'out' | 'in',
  side: [number, number[]],
): Message[] {
  return coveredNumbers(side).flatMap(number => threads.byNumber(interaction.key, direction, number) ?? [])
}

/** A time of this node's clock as the hub's clock had it, as far as the two differ now. */
export const inHubTime = ({ now, hubNow }: Clocks, at: number): number => at + hubNow() - now()
