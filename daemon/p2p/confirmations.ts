/**
 * What proves a direct delivery: no transport says who answers at an address, so the recipient signs that it has the letter.
 * It is the confirmation of sealed mail, unsealed, over the bytes of the payload in place of an envelope.
 */
import { sha256 } from '#crypto'
import { equal, Malformed } from '../../protocol/encoding/bytes.ts'
import { keyAt, type VerifiedKel } from '../../protocol/identity/kel.ts'
import { Dack, dackCodes } from '../../protocol/mail/dack.ts'
import { type MessageBody, messageDigest } from '../../protocol/mail/message.ts'
import type { Identity } from '../identity/identity.ts'

/** A letter as it went: its head, and the bytes that carried it. */
export type Letter = { body: MessageBody; payload: Uint8Array }

/** That this node has stored a letter, under its present key. */
export function confirmed({ aid, seed, log }: Identity, { body, payload }: Letter, now: number): Uint8Array {
  return Dack.encode(
    Dack.sign(seed, {
      envelopeDigest: sha256(payload),
      messageId: body.messageId,
      messageDigest: messageDigest(body),
      recipient: aid,
      kelSeq: log.seq,
      tsMs: now,
      code: dackCodes.stored,
    }),
  )
}

/** Whether these bytes say so of this letter, signed under the newest key that is known of its recipient. */
export function isConfirmed(log: VerifiedKel, { body, payload }: Letter, confirmation: Uint8Array): boolean {
  const dack = decoded(confirmation)
  const key = keyAt(log, log.seq)
  if (dack === undefined || key === undefined) return false
  const { body: said } = dack
  return (
    said.code === dackCodes.stored &&
    said.recipient === body.to &&
    said.recipient === log.aid &&
    said.kelSeq === log.seq &&
    equal(said.messageId, body.messageId) &&
    equal(said.messageDigest, messageDigest(body)) &&
    equal(said.envelopeDigest, sha256(payload)) &&
    Dack.verify(key, dack)
  )
}

function decoded(confirmation: Uint8Array): Dack | undefined {
  try {
    return Dack.decode(confirmation)
  } catch (error) {
    if (error instanceof Malformed) return undefined
    throw error
  }
}
