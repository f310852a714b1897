/** Authorizations that this node signs: under its newest key, dated as its hub sees the time. */
import { present } from '../../protocol/encoding/present.ts'
import { AUTHORIZATION_LIFE_MAX_MS, Authorization } from '../../protocol/proof/payment.ts'
import type { Identity } from '../identity/identity.ts'

const NONCE_BYTES = 16

/** What is signed; without a hold where no seconds are given. */
export type Terms = {
  payTo: string
  amount: number
  network: string
  purpose?: Uint8Array
  refundOf?: Uint8Array
  lifeMs?: number
  holdSeconds?: number | undefined
}

export class PaymentSigner {
  readonly #identity: Identity
  readonly #hubNow: () => number
  readonly #random: (length: number) => Uint8Array

  constructor(identity: Identity, hubNow: () => number, random: (length: number) => Uint8Array) {
    this.#identity = identity
    this.#hubNow = hubNow
    this.#random = random
  }

  sign(terms: Terms): Authorization {
    const { payTo, amount, network, purpose, refundOf } = terms
    const { lifeMs = AUTHORIZATION_LIFE_MAX_MS, holdSeconds } = terms
    const { aid, log, seed } = this.#identity
    const notBefore = this.#hubNow()
    const notAfter = notBefore + lifeMs
    const holdUntil = holdSeconds === undefined ? undefined : notAfter + holdSeconds * 1000
    return Authorization.sign(seed, {
      v: 1,
      payer: aid,
      payerKelSeq: log.seq,
      payTo,
      amount,
      network,
      nonce: this.#random(NONCE_BYTES),
      notBefore,
      notAfter,
      ...present({ purpose, holdUntil, refundOf }),
    })
  }

  /** Whether something was signed under the key that this node has now. */
  isOfThisKey(encoded: Uint8Array): boolean {
    return Authorization.decode(encoded).body.payerKelSeq === this.#identity.log.seq
  }
}
