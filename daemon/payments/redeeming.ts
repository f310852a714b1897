/** Credits given back to the hub: signed once, and asked for until the hub proves that it has carried it out. */
import type { Logger } from 'pino'
import { cidText } from '../../protocol/crypto/hash.ts'
import { plainLine } from '../../protocol/encoding/plain-text.ts'
import {
  Authorization,
  networkOf,
  redemptionPurpose,
  settlementKinds,
  transactionOf,
} from '../../protocol/proof/payment.ts'
import type { HubClient } from '../hubs/hub.ts'
import type { Identity } from '../identity/identity.ts'
import { refuse } from '../refusal.ts'
import type { Store } from '../store/open.ts'
import {
  endRedemption,
  keepRedemption,
  noteRefusedRedemption,
  redemptionAsked,
} from '../store/redemptions.ts'
import { withNewestKey } from './accounts.ts'
import type { OwnRecords } from './own-records.ts'
import type { Receipts } from './receipts.ts'
import { openAt, TOLERANCE_MS } from './redemptions.ts'
import type { PaymentSigner } from './signing.ts'

const REASON_CHARACTERS_MAX = 300

type RedeemingParts = {
  identity: Identity
  store: Store
  signer: PaymentSigner
  records: OwnRecords
  receipts: Receipts
}

export class Redeeming {
  readonly #identity: Identity
  readonly #store: Store
  readonly #signer: PaymentSigner
  readonly #records: OwnRecords
  readonly #receipts: Receipts
  readonly #hubNow: () => number
  readonly #log: Logger

  constructor(
    { identity, store, signer, records, receipts }: RedeemingParts,
    hubNow: () => number,
    log: Logger,
  ) {
    this.#identity = identity
    this.#store = store
    this.#signer = signer
    this.#records = records
    this.#receipts = receipts
    this.#hubNow = hubNow
    this.#log = log
  }

  /** Gives credits back to the hub, which pays out against the reference; the same again asks for the same redemption. */
  async redeem(home: HubClient, amount: number, reference: string, signal: AbortSignal) {
    const store = this.#store
    const terms = { amount, reference }
    const before = redemptionAsked(store, terms)
    const openIn = openAt(store, amount, reference)
    if (openIn !== undefined && openIn !== networkOf(home.identity.aid))
      return refuse(
        'wrong_state',
        `the hub of ${openIn} has not proven that it redeemed ${amount} credits for ${reference}; ask that hub, or give another reference`,
        'svc redeem <amount> --hub <url>',
      )
    const first = before ?? this.#prepare(home, terms)
    const isOld = before !== undefined && this.#isOld(before)
    const told = await this.#redeemed(home, first, reference, signal)
    // a hub that has carried it out says so, whatever the key; any other takes it under the newest only
    const encoded = 'refused' in told && isOld ? this.#prepare(home, terms) : first
    const answer = encoded === first ? told : await this.#redeemed(home, encoded, reference, signal)
    if ('refused' in answer) {
      noteRefusedRedemption(store, terms)
      const says = plainLine(answer.says, REASON_CHARACTERS_MAX)
      return refuse('hub_refused', `the hub redeemed nothing: ${says}`, 'svc balance')
    }
    const authorization = Authorization.decode(encoded)
    const kinds = [settlementKinds.redeemed]
    const fault = await this.#receipts.faultOf(home, answer.receipt, { authorization, kinds })
    if (fault !== undefined) {
      this.#log.error({ fault }, 'the receipt of a redemption does not hold')
      return refuse(
        'hub_refused',
        'the hub answered with a receipt that does not hold; ask again',
        'svc balance',
      )
    }
    const authId = cidText(transactionOf(authorization))
    store.transaction(() => {
      endRedemption(store, terms)
      this.#records.redeemed({ amount, reference, transaction: authId, receipt: answer.receipt })
    }, 'node.payment')
    return { amount, reference, auth_id: authId, verified: true }
  }

  /** Whether nothing can come of it any more unless the hub has carried it out: its key or its time is over. */
  #isOld(encoded: Uint8Array): boolean {
    const { notAfter } = Authorization.decode(encoded).body
    return !this.#signer.isOfThisKey(encoded) || this.#hubNow() > notAfter + TOLERANCE_MS
  }

  #redeemed(home: HubClient, encoded: Uint8Array, reference: string, signal: AbortSignal) {
    const ask = () => home.credits.redeem(encoded, reference, signal)
    return this.#isOld(encoded) ? ask() : withNewestKey(this.#identity, home, ask)
  }

  #prepare(home: HubClient, given: { amount: number; reference: string }): Uint8Array {
    const store = this.#store
    return store.transaction(() => {
      const network = networkOf(home.identity.aid)
      const purpose = redemptionPurpose(given.reference)
      const { amount } = given
      const authorization = this.#signer.sign({ payTo: home.identity.aid, amount, network, purpose })
      const encoded = Authorization.encode(authorization)
      keepRedemption(store, { ...given, authorization: encoded })
      this.#records.authorized('', authorization)
      return encoded
    }, 'node.pay')
  }
}
