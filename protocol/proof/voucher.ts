/**
 * Vouchers (objects: voucher): the hub's word to a provider that one use of a capability was paid for. Whoever has one may
 * use it; the provider takes each once.
 */
import { CID_BYTES, labelledHash } from '../crypto/hash.ts'
import { type Signed, signed } from '../crypto/signed.ts'
import { Malformed } from '../encoding/bytes.ts'
import {
  bytes,
  checked,
  type Infer,
  literal,
  optional,
  record,
  required,
  text,
  uint,
} from '../encoding/record.ts'
import { aid } from '../identity/aid.ts'
import { amount, hubOfNetwork, PURPOSE_BYTES } from './payment.ts'

/** How long a voucher is good: 10 minutes in milliseconds, objects §18. */
export const VOUCHER_LIFE_MS = 10 * 60_000
/** UTF-8 bytes of the name of a capability that can be bought, at most. */
export const BOUGHT_BYTES_MAX = 256
/** Random bytes by which a provider knows a voucher again. */
export const VOUCHER_ID_BYTES = 16
const NETWORK_BYTES_MAX = 64
const BODY_BYTES_MAX = 768
/** Two heads and the signature. */
const SIGNED_OVERHEAD_BYTES = 70

/** Keys 1 to 13 of a voucher, objects §18; decoding throws {@link Malformed}. */
export const VoucherBody = checked(
  record('voucher', {
    v: required(1, literal(1)),
    id: required(2, bytes(VOUCHER_ID_BYTES)),
    transaction: required(3, bytes(CID_BYTES)),
    payer: required(4, aid),
    provider: required(5, aid),
    capability: required(6, text(BOUGHT_BYTES_MAX)),
    /** As the authorization has it. */
    purpose: optional(7, bytes(PURPOSE_BYTES)),
    amount: required(8, amount),
    network: required(9, text(NETWORK_BYTES_MAX)),
    /** Unix ms by the hub's clock. */
    issuedAt: required(10, uint),
    notAfter: required(11, uint),
    hub: required(12, aid),
    hubKelSeq: required(13, uint),
  }),
  ({ capability, network, issuedAt, notAfter }) => {
    if (capability === '') throw new Malformed('a voucher must name a capability')
    if (hubOfNetwork(network) === undefined)
      throw new Malformed('expected a network: hub: and the AID of the hub')
    if (notAfter < issuedAt || notAfter - issuedAt > VOUCHER_LIFE_MS)
      throw new Malformed('a voucher must be good for at most 10 minutes')
  },
)
/** `amount` in whole credits, `transaction` of 36 bytes, times in Unix milliseconds. */
export type VoucherBody = Infer<typeof VoucherBody>

/** `[body, sig]` by the hub's identity key. */
export const Voucher = signed('svc-voucher/v1', VoucherBody, BODY_BYTES_MAX)
/** As parsed: its signature is not verified yet. */
export type Voucher = Signed<VoucherBody>
/** Bytes of a voucher at most, with its signature; its body has 768, objects §3. */
export const VOUCHER_BYTES_MAX = BODY_BYTES_MAX + SIGNED_OVERHEAD_BYTES

/** The purpose of a payment for a call: it pins what is called with what, under the payer's signature. */
export const callPurpose = (requestCid: Uint8Array): Uint8Array => labelledHash('svc-pay-args/v1', requestCid)
