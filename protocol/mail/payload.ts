/**
 * Kinds of messages and the payload map of each (objects: sealed envelope). A document is RFC 8785 JSON carried byte
 * for byte; receipts and counter-signatures are embedded as the items they are.
 */
import { DIRECT_ADDRESS_BYTES_MAX, isDirectAddress } from '../contract/direct-address.ts'
import { DOCUMENT_BYTES_MAX, REASON_BYTES_MAX } from '../contract/limits.ts'
import { Malformed } from '../encoding/bytes.ts'
import {
  blob,
  bytes,
  checked,
  type Field,
  type Infer,
  list,
  mapped,
  optional,
  type RecordCodec,
  record,
  required,
  text,
  tuple,
  uint,
} from '../encoding/record.ts'
import { HeldHead } from '../proof/held-head.ts'
import { AUTHORIZATION_BYTES_MAX, PAY_SALT_BYTES, SETTLEMENT_BYTES_MAX } from '../proof/payment.ts'
import { CounterSignature, MESSAGES_MAX, Receipt } from '../proof/receipt.ts'
import { Numbers } from './numbers.ts'

/** Key 7 of a message head, objects §7. */
export const kinds = {
  delegate: 0,
  result: 1,
  message: 2,
  end: 3,
  acceptEnd: 4,
  receipt: 5,
  counterSignature: 6,
  quote: 7,
  capabilities: 8,
  declined: 9,
  cancelled: 10,
  heldHead: 11,
  numbers: 12,
  settlements: 13,
  noReceipt: 14,
} as const
/** What a person reads; every other kind is a step of the protocol. */
export const wordKinds: readonly number[] = [
  kinds.delegate,
  kinds.result,
  kinds.message,
  kinds.quote,
  kinds.declined,
  kinds.cancelled,
]
/** 0 to 14; {@link isKind} says whether a number is one. */
export type Kind = (typeof kinds)[keyof typeof kinds]

/** Why a provider signs no receipt of a task that ended, objects §7. */
export const noReceiptReasons = { answerLost: 0, tooManyMissing: 1, chainQuarantined: 2 } as const
/** 0 to 2, as {@link noReceiptReasons} has them. */
export type NoReceiptReason = (typeof noReceiptReasons)[keyof typeof noReceiptReasons]

/** Numbers that an end or an acceptance lists as missing at most, objects §7. */
export const MISSING_MAX = 1024
/** Settlement receipts in one message. */
const SETTLEMENTS_MAX = 4

/** Message numbers, each at least 1, strictly ascending. */
const numbers: Field<number[]> = mapped(
  list(uint, MISSING_MAX),
  listed => ascending(listed),
  listed => ascending(listed),
)
/** The number of a message, or how many there are: nobody is made to count further. */
const number: Field<number> = mapped(uint, bounded, bounded)
const noReceiptReason: Field<NoReceiptReason> = mapped(uint, knownReason, knownReason)
const document = blob(DOCUMENT_BYTES_MAX)
const reason = required(1, text(REASON_BYTES_MAX))
const paysFor = {
  /** Ties the payment to this delegation. */
  paySalt: optional(3, bytes(PAY_SALT_BYTES)),
  authorization: optional(4, blob(AUTHORIZATION_BYTES_MAX)),
}
const tellsPaid = {
  settlements: optional(2, list(blob(SETTLEMENT_BYTES_MAX), SETTLEMENTS_MAX, 1)),
  /** Gives back a payment that went through when nobody wanted it any more. */
  refund: optional(3, blob(AUTHORIZATION_BYTES_MAX)),
}

/** Where its sender takes mail directly, and when it said so; the empty address is withdrawn. */
export type SaidAddress = { address: string; atMs: number }
const saidAddress: Field<SaidAddress> = mapped(
  tuple<[string, number]>(text(DIRECT_ADDRESS_BYTES_MAX), uint),
  ([address, atMs]) => ({ address: reachable(address), atMs }),
  ({ address, atMs }): [string, number] => [reachable(address), atMs],
)

type Lacking = { peerHighest: number; missing: number[] }

/** A codec whose `missing` lies below `peerHighest`, which is held. */
const lacking = <T extends Lacking>(codec: RecordCodec<T>): RecordCodec<T> =>
  checked(codec, ({ peerHighest, missing }) => {
    if ((missing.at(-1) ?? 0) >= Math.max(peerHighest, 1))
      throw new Malformed('missing numbers must be below the highest number held')
  })

type Paying = { paySalt?: Uint8Array; authorization?: Uint8Array }

/** A codec whose salt and authorization come together. */
const paying = <T extends Paying>(codec: RecordCodec<T>): RecordCodec<T> =>
  checked(codec, ({ paySalt, authorization }) => {
    if ((paySalt === undefined) !== (authorization === undefined))
      throw new Malformed('a payment needs its salt and its authorization')
  })

/** The payload of every kind. `peerHighest` is the highest number of the peer held, `missing` those below it lacked. */
export const payloads = {
  0: paying(
    record('delegate', {
      document: required(1, document),
      requesterCommitment: required(2, bytes(32)),
      ...paysFor,
    }),
  ),
  1: record('result', { document: required(1, document), ...tellsPaid }),
  2: record('message', { document: required(1, document), ...tellsPaid }),
  3: lacking(
    record('end', {
      number: required(1, number),
      peerHighest: required(2, number),
      missing: required(3, numbers),
    }),
  ),
  4: lacking(
    record('accept-end', {
      endNumber: required(1, number),
      number: required(2, number),
      peerHighest: required(3, number),
      missing: required(4, numbers),
    }),
  ),
  5: record('receipt message', { receipt: required(1, Receipt) }),
  6: record('counter-signature message', {
    counterSignature: required(1, CounterSignature),
    /** What it signs, where the provider may have lost it. */
    receipt: optional(2, Receipt),
  }),
  7: record('quote', { document: required(1, document) }),
  8: record('capabilities', { direct: optional(1, saidAddress) }),
  9: record('declined', { reason }),
  10: record('cancelled', { reason }),
  11: HeldHead,
  12: Numbers,
  13: record('settlements', {
    settlements: required(1, list(blob(SETTLEMENT_BYTES_MAX), SETTLEMENTS_MAX, 1)),
    /** Gives back what was paid across two hubs, once the task takes no more words. */
    refund: optional(2, blob(AUTHORIZATION_BYTES_MAX)),
  }),
  14: record('no receipt', { reason: required(1, noReceiptReason) }),
} as const satisfies Record<Kind, unknown>

/** Members of the payload of one kind, as {@link payloads} declares them. */
export type Payload<K extends Kind> = Infer<(typeof payloads)[K]>
/** A payload together with its kind. */
export type AnyPayload = { [K in Kind]: { kind: K; payload: Payload<K> } }[Kind]

/** Whether this release knows the kind; an unknown one is confirmed with code 2 (objects §7). */
export function isKind(kind: number): kind is Kind {
  return Object.hasOwn(payloads, kind)
}

/** svc-cbor for key 11 of a head, objects §7; members that do not fit each other throw {@link Malformed}. */
export function encodePayload<K extends Kind>(kind: K, payload: Payload<K>): Uint8Array {
  return codec(kind).encode(payload)
}

/** Throws {@link Malformed} for an unknown kind and for bytes that are not that kind's payload. */
export function decodePayload(kind: number, encoded: Uint8Array): AnyPayload {
  if (!isKind(kind)) throw new Malformed(`unknown message kind ${kind}`)
  return { kind, payload: codec(kind).decode(encoded) } as AnyPayload
}

function codec<K extends Kind>(kind: K): RecordCodec<Payload<K>> {
  return payloads[kind] as unknown as RecordCodec<Payload<K>>
}

function bounded(count: number): number {
  if (count > MESSAGES_MAX) throw new Malformed(`a message number is above ${MESSAGES_MAX}`)
  return count
}

function knownReason(code: number): NoReceiptReason {
  const known = Object.values(noReceiptReasons).find(one => one === code)
  if (known === undefined) throw new Malformed(`unknown reason ${code} for a missing receipt`)
  return known
}

function reachable(address: string): string {
  if (address !== '' && !isDirectAddress(address))
    throw new Malformed('a direct address is a host and a port')
  return address
}

function ascending(listed: number[]): number[] {
  if (listed.some((number, i) => number <= (listed[i - 1] ?? 0)))
    throw new Malformed('numbers must ascend from 1')
  return listed
}
