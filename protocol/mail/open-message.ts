/**
 * A message that its hub can read (objects: open messages): head and attachments under one signature, and no seal. Its
 * head has none of the keys that only a sealed one needs, so neither is ever taken for the other.
 */
import { sha256 } from '#crypto'
import { contentId, labelledSign, labelledVerify } from '../crypto/hash.ts'
import { SIGNATURE_BYTES } from '../crypto/signed.ts'
import { equal, Malformed } from '../encoding/bytes.ts'
import { decode, encode } from '../encoding/cbor.ts'
import { blob, bytes, list, tuple } from '../encoding/record.ts'
import { ATTACHMENTS_MAX, HEAD_BYTES_MAX, MessageBody } from './message.ts'

const OPEN_LABEL = 'svc-open/v1'
/** Bytes of one attachment at most. */
const ATTACHMENT_BYTES_MAX = 64 * 1024 * 1024
const SEALED_ALONE = ['capabilities', 'handleSecret', 'kel', 'keySet'] as const

/** The head as received, the signature over it, and the attachments in the order of its list. */
export type OpenMessage = {
  body: MessageBody
  bodyBytes: Uint8Array
  signature: Uint8Array
  attachments: Uint8Array[]
}

const triple = tuple<[Uint8Array, Uint8Array, Uint8Array[]]>(
  blob(HEAD_BYTES_MAX),
  bytes(SIGNATURE_BYTES),
  list(blob(ATTACHMENT_BYTES_MAX), ATTACHMENTS_MAX),
)

/** Signs with the sender's identity seed (32 bytes); throws {@link Malformed} where body and attachments do not fit. */
export function signOpen(seed: Uint8Array, body: MessageBody, attachments: Uint8Array[]): OpenMessage {
  checkOpen(body, attachments)
  const bodyBytes = MessageBody.encode(body)
  return { body, bodyBytes, signature: labelledSign(OPEN_LABEL, seed, sha256(bodyBytes)), attachments }
}

/** `[body, sig, [attachment, …]]` as svc-cbor. */
export function encodeOpen({ bodyBytes, signature, attachments }: OpenMessage): Uint8Array {
  return encode([bodyBytes, signature, attachments])
}

/** Parses a message without verifying it; throws {@link Malformed}, also where an attachment is another than its head says. */
export function decodeOpen(encoded: Uint8Array): OpenMessage {
  const [bodyBytes, signature, attachments] = triple.read(decode(encoded), 'open message')
  const body = MessageBody.decode(bodyBytes)
  checkOpen(body, attachments)
  return { body, bodyBytes, signature, attachments }
}

/** Whether `publicKey` signed this message. */
export function holdsOpen(publicKey: Uint8Array, { bodyBytes, signature }: OpenMessage): boolean {
  return labelledVerify(OPEN_LABEL, publicKey, sha256(bodyBytes), signature)
}

function checkOpen(body: MessageBody, attachments: readonly Uint8Array[]): void {
  const sealed = SEALED_ALONE.find(name => body[name] !== undefined)
  if (sealed !== undefined) throw new Malformed(`an open message has no ${sealed}`)
  const fits = (content: Uint8Array, at: number) => {
    const said = body.attachments[at]
    return said !== undefined && said.size === content.length && equal(said.cid, contentId(content))
  }
  if (attachments.length !== body.attachments.length || !attachments.every(fits))
    throw new Malformed('the attachments are not those of the head')
}
