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
