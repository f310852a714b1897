/**
 * Why a task that ended has no receipt (objects: no receipt): its provider says so, and both sides show it until one comes.
 * Every function runs inside a transaction of its caller.
 */
import {
  encodePayload,
  kinds,
  type NoReceiptReason,
  noReceiptReasons,
  type Payload,
} from '../../protocol/mail/payload.ts'
import { isNumberOpen } from '../store/interactions.ts'
import { ownReason } from '../store/reasons.ts'
import type { Interaction, Threads } from '../store/threads.ts'
import { isCut } from './standing.ts'

const AT_PROVIDER: Record<NoReceiptReason, string> = {
  [noReceiptReasons.answerLost]:
    'no receipt: a copy of this node that is lost said the last answer, which is not here',
  [noReceiptReasons.tooManyMissing]: 'no receipt: too many messages are missing',
  [noReceiptReasons.chainQuarantined]: 'no receipt: the evidence chain is quarantined',
}
const OF_VISITOR = 'no receipt: a visitor of a hub has no key to sign one with'
const AT_REQUESTER: Record<NoReceiptReason, string> = {
  [noReceiptReasons.answerLost]:
    'the provider signs no receipt: its node was restored from a backup that lacks its last answer',
  [noReceiptReasons.tooManyMissing]: 'the provider signs no receipt: too many messages are missing',
  [noReceiptReasons.chainQuarantined]: 'the provider signs no receipt: its evidence chain is quarantined',
}

/** The provider signs no receipt, and tells the requester why. */
export function refuseReceipt(
  threads: Threads,
  interaction: Interaction,
  reason: NoReceiptReason,
): Interaction {
  const payload = encodePayload(kinds.noReceipt, { reason })
  const told = threads.queue(interaction, { kind: kinds.noReceipt, payload, text: '', numbered: false })
  return threads.update(told.interaction, { receiptState: 'none', ...ownReason(AT_PROVIDER[reason]) })
}

/** A visitor has no key: nobody could sign the receipt, nor reads why there is none. */
export const withoutSigner = (threads: Threads, interaction: Interaction): Interaction =>
  threads.update(interaction, { receiptState: 'none', ...ownReason(OF_VISITOR) })

/** Somebody proposed the end, or may have done so before this node was restored. */
export const isEndNear = (interaction: Interaction): boolean =>
  interaction.state === 'end_proposed' || isNumberOpen(interaction)

/** The requester waits for no receipt any more, unless it holds one; undefined before anybody proposed the end. */
export function takeNoReceipt(
  threads: Threads,
  interaction: Interaction,
  { reason }: Payload<14>,
): Interaction | undefined {
  if (!isCut(interaction) && !isEndNear(interaction)) return undefined
  if (interaction.receipt !== null) return interaction
  return threads.update(interaction, { receiptState: 'none', ...ownReason(AT_REQUESTER[reason]) })
}
