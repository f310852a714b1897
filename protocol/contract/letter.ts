/** An open message on its way: the members beside its payload are the word of whoever sends it, and prove nothing. */
import * as z from 'zod'
import { aidShape, blob64 } from './shapes.ts'

const MIB = 1024 * 1024
/** Bytes of one payload that goes directly; hubs take more. */
export const LETTER_BYTES_MAX = 5 * MIB
/** Bytes of a request that carries such a payload. */
export const LETTER_BODY_BYTES_MAX = 7 * MIB

/** What a message is said to be. */
export const kind = z.enum(['delegate', 'result', 'message'])
/** Which task it is of. */
export const interaction = z.string().max(256)

/** Members of a letter, whoever takes it: a hub, or its recipient. */
export const letterMembers = {
  to_aid: aidShape,
  from_aid: z.string().max(256),
  kind,
  interaction_id: interaction.default(''),
  payload: blob64(LETTER_BYTES_MAX),
}
