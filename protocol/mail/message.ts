/**
 * The head of a message (objects: sealed envelope): who writes what to whom, inside the seal. Its signature covers the
 * sealing context and so the recipient: a sealed message cannot be sealed again to somebody else.
 */
import { sha256 } from '#crypto'
import { CID_BYTES, labelledHash, labelledSign, labelledVerify } from '../crypto/hash.ts'
import { SIGNATURE_BYTES } from '../crypto/signed.ts'
import { concat, Malformed } from '../encoding/bytes.ts'
import { decode, encode } from '../encoding/cbor.ts'
import {
  blob,
  bytes,
  type Infer,
  list,
  literal,
  optional,
  record,
  required,
  text,
  tuple,
  uint,
} from '../encoding/record.ts'
import { aid, aidBytes } from '../identity/aid.ts'
import { kelItem } from '../identity/kel.ts'
import { KeySet } from '../identity/keyset.ts'
import { MESSAGES_MAX } from '../proof/receipt.ts'
import { CAPABILITIES_PER_MESSAGE_MAX, grantedCapability } from './capability.ts'
import { type AnyPayload, decodePayload, type Kind, kinds } from './payload.ts'

/** Random bytes of a message id, objects §3. */
export const MESSAGE_ID_BYTES = 16
/** Random bytes of an interaction id, which the delegator draws, objects §3. */
export const INTERACTION_ID_BYTES = 16
/** Bytes of a message head at most, objects §7. */
export const HEAD_BYTES_MAX = 1024 * 1024
/** Attachments of one message at most, objects §7. */
export const ATTACHMENTS_MAX = 64
const NAME_BYTES_MAX = 255
const SEAL_LABEL = 'svc-seal/v1'

/** An item of key 15, objects §7: name and media type of at most 255 bytes each. */
export const Attachment = record('attachment', {
  name: required(1, text(NAME_BYTES_MAX)),
  mediaType: required(2, text(NAME_BYTES_MAX)),
  size: required(3, uint),
  cid: required(4, bytes(CID_BYTES)),
})
/** `size` in bytes, `cid` a content id of 36 bytes. */
export type Attachment = Infer<typeof Attachment>

/** Keys 1 to 17 of a message head, objects §7; decoding throws {@link Malformed}. */
export const MessageBody = record('message head', {
  v: required(1, literal(1)),
  from: required(2, aid),
  kelSeq: required(3, uint),
  to: required(4, aid),
  messageId: required(5, bytes(MESSAGE_ID_BYTES)),
  /** Time of this sealing. */
  tsMs: required(6, uint),
  kind: required(7, uint),
  interactionId: optional(8, bytes(INTERACTION_ID_BYTES)),
  /** The sender's number in the interaction; 0 outside the transcript. */
  number: required(9, uint),
  /** Every number 1 … n of the peer is stored durably. */
  storedUpTo: required(10, uint),
  payload: required(11, blob(HEAD_BYTES_MAX)),
  capabilities: optional(12, list(grantedCapability, CAPABILITIES_PER_MESSAGE_MAX, 1)),
  kelHeadDigest: required(13, bytes(32)),
  /** Present in every sealed head, absent in open ones. */
  handleSecret: optional(14, bytes(32)),
  attachments: required(15, list(Attachment, ATTACHMENTS_MAX)),
  kel: optional(16, kelItem),
  keySet: optional(17, KeySet),
})
/** Message and interaction ids of 16 bytes, digests of 32, `tsMs` in Unix milliseconds. */
export type MessageBody = Infer<typeof MessageBody>

/** A head as it was sealed: body bytes as received and the signature over context and body. */
export type MessageHead = { body: MessageBody; bodyBytes: Uint8Array; signature: Uint8Array }

const headPair = tuple<[Uint8Array, Uint8Array]>(blob(HEAD_BYTES_MAX), bytes(SIGNATURE_BYTES))

/** Signs with the sender's identity seed (32 bytes) for the sealing context (32 bytes), objects §7. */
export function signHead(seed: Uint8Array, body: MessageBody, context: Uint8Array): MessageHead {
  const bodyBytes = MessageBody.encode(body)
  return { body, bodyBytes, signature: labelledSign(SEAL_LABEL, seed, concat(context, sha256(bodyBytes))) }
}

/** `[body, sig]` as svc-cbor, objects §7. */
export function encodeHead(head: MessageHead): Uint8Array {
  return encode([head.bodyBytes, head.signature])
}

/** Parses a head without verifying it. */
export function decodeHead(encoded: Uint8Array): MessageHead {
  const [bodyBytes, signature] = headPair.read(decode(encoded), 'message head')
  return { body: MessageBody.decode(bodyBytes), bodyBytes, signature }
}

/** Whether `publicKey` signed this head for this sealing context. */
export function headHolds(publicKey: Uint8Array, head: MessageHead, context: Uint8Array): boolean {
  return labelledVerify(SEAL_LABEL, publicKey, concat(context, sha256(head.bodyBytes)), head.signature)
}

/** What a message is in a transcript, whenever and under whatever key it was sealed. */
export function messageDigest(
  body: Pick<
    MessageBody,
    'from' | 'to' | 'messageId' | 'kind' | 'interactionId' | 'number' | 'payload' | 'attachments'
  >,
): Uint8Array {
  return labelledHash(
    'svc-msg/v1',
    encode([
      aidBytes(body.from),
      aidBytes(body.to),
      body.messageId,
      body.kind,
      body.interactionId ?? new Uint8Array(0),
      body.number,
      sha256(body.payload),
      body.attachments.map(({ name, mediaType, size, cid }) => [name, mediaType, size, cid]),
    ]),
  )
}

/** Belongs to no interaction. */
export const isLoose = (kind: Kind): boolean =>
  kind === kinds.capabilities || kind === kinds.heldHead || kind === kinds.numbers

/** The payload, once kind, interaction and number agree with each other; else throws {@link Malformed}. */
export function messagePayload(body: MessageBody): AnyPayload {
  if (body.number > MESSAGES_MAX || body.storedUpTo > MESSAGES_MAX)
    throw new Malformed(`a message number is above ${MESSAGES_MAX}`)
  const message = decodePayload(body.kind, body.payload)
  if ((body.interactionId === undefined) !== isLoose(message.kind))
    throw new Malformed('message and interaction ids do not match')
  if (!numberFits(message, body.number)) throw new Malformed('message number does not match its kind')
  return message
}

function numberFits(message: AnyPayload, number: number): boolean {
  switch (message.kind) {
    case kinds.delegate:
      return number === 1
    case kinds.end:
    case kinds.acceptEnd:
      return number >= 1 && message.payload.number === number
    case kinds.receipt:
    case kinds.counterSignature:
    case kinds.capabilities:
    case kinds.heldHead:
    case kinds.numbers:
    case kinds.settlements:
    case kinds.noReceipt:
      return number === 0
    default:
      return number >= 1
  }
}
