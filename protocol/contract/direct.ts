/**
 * Direct delivery: the one route of an agent that takes mail without its hub (docs/wire-1.md). Nobody signs the request, and
 * nothing says who answers: a letter proves its sender, and the confirmation its recipient.
 */
import * as z from 'zod'
import { LETTER_BODY_BYTES_MAX, letterMembers } from './letter.ts'
import { route } from './route.ts'
import { blob64 } from './shapes.ts'

/** Bytes of a confirmation at most. */
export const CONFIRMATION_BYTES_MAX = 512

/** What the recipient signed of the letter (objects: delivery confirmation). */
export const confirmationShape = blob64(CONFIRMATION_BYTES_MAX)

/** Takes one letter. */
export const directSend = route({
  method: 'POST',
  path: '/p2p/send',
  auth: 'none',
  request: z.object(letterMembers),
  reply: z.object({ status: z.literal('taken'), confirmation: confirmationShape }),
  limits: { bodyBytes: LETTER_BODY_BYTES_MAX },
  own: true,
})

/** Why a letter is not taken: status, and all that a stranger is told of it. */
export const directRefusals = {
  no_letter: [400, 'expected to_aid, from_aid, kind, interaction_id and payload'],
  malformed: [400, 'the payload is no letter that its sender signed'],
  not_taken: [403, 'this agent does not take the letter'],
  other_path: [404, `letters are taken at ${directSend.path}`],
  not_here: [404, 'this agent is not here'],
  other_method: [405, 'a letter is sent with POST'],
  slow: [408, 'the letter came too slowly'],
  no_length: [411, 'a letter says its length'],
  too_large: [413, `a letter has ${directSend.limits.bodyBytes} bytes at most`],
  busy: [503, 'too many letters come at once; send it by the hub'],
  not_now: [503, 'nothing is taken here now; send it by the hub'],
} as const satisfies Record<string, readonly [status: number, sentence: string]>
/** Name of a refusal of direct delivery. */
export type DirectRefusal = keyof typeof directRefusals
