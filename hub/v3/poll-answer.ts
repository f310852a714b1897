/** How sealed mail stands in the answer to a poll. */
import type { Printed } from '../http/letters.ts'
import type { WaitingEnvelope } from '../store/port.ts'

/** The members of the answer beside `messages`. */
export type PollTail = { more: boolean; notice: string }

/** Envelopes as their recipient reads them, and the rest of the answer. */
export const printedEnvelopes = ({ more, notice }: PollTail): Printed<WaitingEnvelope> => ({
  encoding: 'base64url',
  member: 'envelope',
  before: ({ id, acceptedMs }) => `{"id":${id},"accepted_at":${acceptedMs}`,
  after: isCut => `,"more":${more || isCut},"key_state_notice":"${notice}"}`,
})
