/**
 * Direct delivery: the routes of an agent that takes mail without its hub (docs/wire-1.md, docs/wire-3.md). Nobody signs the
 * request, and nothing says who answers: a letter proves its sender, and the confirmation its recipient.
 */
import * as z from 'zod'
import { DIRECT_ADDRESS_BYTES_MAX, isDirectAddress } from './direct-address.ts'
import { LETTER_BODY_BYTES_MAX, LETTER_BYTES_MAX, letterMembers } from './letter.ts'
import { DACK_BYTES } from './limits.ts'
import { route } from './route.ts'
import { blob64, bytes64 } from './shapes.ts'

/** A host and a port, at most 256 bytes. */
export const directAddress = z.string().refine(isDirectAddress, {
  error: `expected a host and a port of at most ${DIRECT_ADDRESS_BYTES_MAX} bytes, such as agent.example:4001`,
})

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

/** Bytes of a sealed envelope that goes directly at most; hubs take more. */
export const DIRECT_ENVELOPE_BYTES_MAX = LETTER_BYTES_MAX
/** Bytes of an envelope by which it is judged before more of it is read; its head lies within. */
export const JUDGED_BYTES_MAX = 4096

/** A delivery confirmation, sealed for the sender, as a hub would keep it. */
export const sealedConfirmation = bytes64(DACK_BYTES, `expected ${DACK_BYTES} bytes`)

/** Takes one sealed envelope, which shows a capability of its recipient. */
export const directEnvelope = route({
  method: 'POST',
  path: '/p2p/envelope',
  auth: 'credential',
  raw: 'application/octet-stream',
  reply: z.object({ status: z.literal('taken'), confirmation: sealedConfirmation }),
  limits: { bodyBytes: DIRECT_ENVELOPE_BYTES_MAX },
  own: true,
})

/** Why a letter is not taken: status, and all that a stranger is told of it. */
export const directRefusals = {
  no_letter: [400, 'expected to_aid, from_aid, kind, interaction_id and payload'],
  malformed: [400, 'the payload is no letter that its sender signed'],
  bad_envelope: [400, 'this is no envelope that this agent can open'],
  not_admitted: [403, 'nothing in this envelope lets it in here; send it by the hub'],
  not_taken: [403, 'this agent does not take the letter'],
  other_path: [404, `letters are taken at ${directSend.path}, envelopes at ${directEnvelope.path}`],
  not_here: [404, 'this agent is not here'],
  other_method: [405, 'mail is sent with POST'],
  slow: [408, 'it came too slowly; send it by the hub'],
  no_length: [411, 'mail says its length'],
  too_large: [413, 'it is larger than what is taken here; send it by the hub'],
  busy: [503, 'too much comes at once; send it by the hub'],
  not_now: [503, 'nothing is taken here now; send it by the hub'],
} as const satisfies Record<string, readonly [status: number, sentence: string]>
/** Name of a refusal of direct delivery. */
export type DirectRefusal = keyof typeof directRefusals
