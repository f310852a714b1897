/**
 * Payments (objects: payment): the payer's authorization, the hub's settlement receipt, and the payee's order that ends
 * a hold. Amounts are whole credits, 1 to 2^53 − 1; the id of a payment is the content id of the authorization's body.
 */
import { CREDITS_MAX } from '../contract/limits.ts'
import { CID_BYTES, contentId, labelledHash } from '../crypto/hash.ts'
import { type Signed, signed } from '../crypto/signed.ts'
import { Malformed, utf8 } from '../encoding/bytes.ts'
import {
  bytes,
  type Field,
  type Infer,
  literal,
  mapped,
  oneOf,
  optional,
  type RecordCodec,
  record,
  required,
  text,
  tuple,
  uint,
} from '../encoding/record.ts'
import { aid, isAid } from '../identity/aid.ts'

/** Bytes of an authorization at most, with its signature, objects §18. */
export const AUTHORIZATION_BYTES_MAX = 512
/** What an authorization adds to its body: two heads and the signature. */
const SIGNED_OVERHEAD_BYTES = 70
const ORDER_BODY_BYTES_MAX = 256
const SETTLEMENT_BODY_BYTES_MAX = 512
/** An authorization is good for an hour at most. */
export const AUTHORIZATION_LIFE_MAX_MS = 3_600_000
/** How long a hold may last after its authorization's not after: 30 days in milliseconds, objects §18. */
export const HOLD_MAX_MS = 30 * 24 * 3_600_000
/** UTF-8 bytes of the reference of a redemption at most. */
export const REFERENCE_BYTES_MAX = 256
const NONCE_BYTES = 16
/** Bytes of a purpose, which is a hash, objects §18. */
export const PURPOSE_BYTES = 32
/** Random bytes of a pay salt, objects §18. */
export const PAY_SALT_BYTES = 32
const NETWORK_PREFIX = 'hub:'
const AMOUNT = /^[1-9][0-9]{0,15}$/

/** Whole credits, at least one. */
export const amount: Field<number> = mapped(uint, positive, positive)

function positive(value: number): number {
  if (value < 1) throw new Malformed('an amount must be at least 1')
  return value
}

/** The network of a hub's credits, as x402 names it. */
export const networkOf = (hub: string): string => `${NETWORK_PREFIX}${hub}`

/** The hub whose credits a network is; undefined for anything that is no hub's network. */
export function hubOfNetwork(network: string): string | undefined {
  const hub = network.slice(NETWORK_PREFIX.length)
  return network.startsWith(NETWORK_PREFIX) && isAid(hub) ? hub : undefined
}

const networkField: Field<string> = mapped(text(64), checkedNetwork, checkedNetwork)

function checkedNetwork(network: string): string {
  if (hubOfNetwork(network) === undefined)
    throw new Malformed('expected a network: hub: and the AID of the hub')
  return network
}

/** An amount as x402 writes it, in decimal digits; undefined unless it is from 1 to 2^53 − 1. */
export function amountOfText(digits: string): number | undefined {
  if (!AMOUNT.test(digits) || BigInt(digits) > BigInt(CREDITS_MAX)) return undefined
  return Number(digits)
}

const authorizationShape = record('authorization', {
  v: required(1, literal(1)),
  payer: required(2, aid),
  payerKelSeq: required(3, uint),
  payTo: required(4, aid),
  amount: required(5, amount),
  network: required(6, networkField),
  nonce: required(7, bytes(NONCE_BYTES)),
  /** Unix ms. */
  notBefore: required(8, uint),
  notAfter: required(9, uint),
  purpose: optional(10, bytes(PURPOSE_BYTES)),
  /** Unix ms at which a hold lapses; only of a payment that is held. */
  holdUntil: optional(11, uint),
  /** The payment that this one gives back. */
  refundOf: optional(12, bytes(CID_BYTES)),
})
/** `amount` in whole credits, times in Unix milliseconds, `refundOf` of 36 bytes (objects §18). */
export type AuthorizationBody = Infer<typeof authorizationShape>

/** A body whose times fit each other. */
export const AuthorizationBody: RecordCodec<AuthorizationBody> = {
  ...authorizationShape,
  read: (value, name) => checkedTimes(authorizationShape.read(value, name)),
  encode: body => authorizationShape.encode(checkedTimes(body)),
  decode: encoded => checkedTimes(authorizationShape.decode(encoded)),
}

function checkedTimes(body: AuthorizationBody): AuthorizationBody {
  const { notBefore, notAfter, holdUntil } = body
  if (notAfter < notBefore || notAfter - notBefore > AUTHORIZATION_LIFE_MAX_MS)
    throw new Malformed('an authorization must be valid for at most an hour')
  if (holdUntil !== undefined && holdUntil < notAfter)
    throw new Malformed('a hold must last longer than its authorization')
  return body
}

/** `[body, sig]` by the payer's identity key. */
export const Authorization = signed(
  'svc-pay/v1',
  AuthorizationBody,
  AUTHORIZATION_BYTES_MAX - SIGNED_OVERHEAD_BYTES,
)
/** As parsed: its signature is not verified yet. */
export type Authorization = Signed<AuthorizationBody>

/** The id of a payment, 36 bytes: the content id of the authorization's body. */
export const transactionOf = (authorization: Pick<Authorization, 'bodyBytes'>): Uint8Array =>
  contentId(authorization.bodyBytes)

/** What a payment is for, opaque to every hub: bound to a delegation by the salt that travels with it, sealed. */
export const purposeOf = (
  paySalt: Uint8Array,
  interactionId: Uint8Array,
  requestCid: Uint8Array,
): Uint8Array => labelledHash('svc-pay-for/v1', paySalt, interactionId, requestCid)

/** The purpose of a redemption with this reference. */
export const redemptionPurpose = (reference: string): Uint8Array =>
  labelledHash('svc-redeem/v1', utf8(reference))

/** What the receipt of a task says of its payment; only who knows the salt can tell which payment it was. */
export const paidMark = (paySalt: Uint8Array, transaction: Uint8Array): Uint8Array =>
  labelledHash('svc-paid/v1', paySalt, transaction)

/** What a settlement receipt tells: a payment, a hold, what was captured of one, what went back, a redemption. */
export const settlementKinds = { paid: 0, held: 1, captured: 2, returned: 3, redeemed: 4 } as const
/** 0 to 4, key 3 of a settlement receipt (objects §18). */
export type SettlementKind = (typeof settlementKinds)[keyof typeof settlementKinds]

/** Keys 1 to 13 of a settlement receipt, objects §18; decoding throws {@link Malformed}. */
export const SettlementBody = record('settlement receipt', {
  v: required(1, literal(1)),
  transaction: required(2, bytes(CID_BYTES)),
  kind: required(3, oneOf<SettlementKind>(0, 1, 2, 3, 4)),
  payer: required(4, aid),
  payee: required(5, aid),
  /** Of a captured hold what was captured, of a returned one what went back. */
  amount: required(6, amount),
  network: required(7, networkField),
  /** Unix ms by the hub's clock. */
  settledAt: required(8, uint),
  hub: required(9, aid),
  hubKelSeq: required(10, uint),
  /** The newest record of the hub's supply chain that the signer knew: number and id. */
  supplyHead: required(11, tuple<[number, Uint8Array]>(uint, bytes(CID_BYTES))),
  /** The other hub of a payment across two. */
  peer: optional(12, aid),
  holdUntil: optional(13, uint),
})
/** `amount` in whole credits, `transaction` of 36 bytes, times in Unix milliseconds. */
export type SettlementBody = Infer<typeof SettlementBody>

/** `[body, sig]` by the hub's identity key. */
export const SettlementReceipt = signed('svc-settle/v1', SettlementBody, SETTLEMENT_BODY_BYTES_MAX)
/** As parsed: its signature is not verified yet. */
export type SettlementReceipt = Signed<SettlementBody>
/** Bytes of a settlement receipt at most, with its signature; its body has 512, objects §3. */
export const SETTLEMENT_BYTES_MAX = SETTLEMENT_BODY_BYTES_MAX + SIGNED_OVERHEAD_BYTES

/** Keys 1 to 6 of an order about a hold, objects §18; decoding throws {@link Malformed}. */
export const HoldOrderBody = record('hold order', {
  v: required(1, literal(1)),
  transaction: required(2, bytes(CID_BYTES)),
  /** What is captured; 0 gives all of it back. */
  amount: required(3, uint),
  payee: required(4, aid),
  payeeKelSeq: required(5, uint),
  /** Unix ms. */
  madeAt: required(6, uint),
})
/** `amount` in whole credits, `transaction` of 36 bytes, `madeAt` in Unix milliseconds. */
export type HoldOrderBody = Infer<typeof HoldOrderBody>

/** `[body, sig]` by the payee's identity key. */
export const HoldOrder = signed('svc-hold/v1', HoldOrderBody, ORDER_BODY_BYTES_MAX)
/** As parsed: its signature is not verified yet. */
export type HoldOrder = Signed<HoldOrderBody>
/** Bytes of an order about a hold at most, with its signature; its body has 256, objects §3. */
export const HOLD_ORDER_BYTES_MAX = ORDER_BODY_BYTES_MAX + SIGNED_OVERHEAD_BYTES
