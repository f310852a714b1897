/** Shapes of members in wire 1: binary values are standard base64, and members that nobody knows are ignored. */
import * as z from 'zod'
import { aidShape, blob64, bytes64 } from '../../contract/shapes.ts'
import { KEL_BYTES_MAX } from '../../identity/kel.ts'

const SIGNATURE_BYTES = 64

/** A key event log. */
export const kel64 = blob64(KEL_BYTES_MAX)
/** An Ed25519 signature. */
export const signature64 = bytes64(SIGNATURE_BYTES, 'a signature of 64 bytes')
/** The members of a challenge, which every signed request of this wire has in its body. */
export const challenge = {
  aid: aidShape,
  ts: z.int().min(0),
  key_state_seq: z.int().min(0),
  sig: signature64,
}
/** Time of an entry. */
export const isoTime = z.iso.datetime()
