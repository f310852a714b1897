/**
 * Payments that stand in no task: credits given back to the hub, headers for plain HTTP, and the comparison of what this
 * node signed with what the hub says it moved.
 */
import { cidText } from '../../protocol/crypto/hash.ts'
import { toBase64, utf8 } from '../../protocol/encoding/bytes.ts'
import { plainLine } from '../../protocol/encoding/plain-text.ts'
import { present } from '../../protocol/encoding/present.ts'
import {
  AUTHORIZATION_LIFE_MAX_MS,
  Authorization,
  HOLD_MAX_MS,
  networkOf,
  redemptionPurpose,
  settlementKinds,
  transactionOf,
} from '../../protocol/proof/payment.ts'
import { paymentPayload } from '../../protocol/proof/quote.ts'
import type { Context } from '../context.ts'
import type { HubClient } from '../hubs/hub.ts'
import { refuse } from '../refusal.ts'
import { heldForUs, unprovenOut } from '../store/open-payments.ts'
import { endRedemption, keepRedemption, redemptionAsked } from '../store/redemptions.ts'
import { withNewestKey } from './accounts.ts'
import type { Holds } from './holds.ts'
import type { PaymentParts } from './parts.ts'
import { openAt } from './redemptions.ts'

type Needs = Pick<Context, 'identity' | 'store' | 'chain' | 'threads' | 'hubNow' | 'random' | 'log'>

const NONCE_BYTES = 16
/** Clocks may differ, so one that has ended may be carried out a little longer. */
const TOLERANCE_MS = 4 * 60_000
const REASON_CHARACTERS_MAX = 300
/** Seconds that a header for plain HTTP leaves its payee: what servers of x402 ask for where they say nothing. */
const HEADER_SECONDS = 300
/** An authorization is good a little longer than that, so that it can be settled at the end. */
const LEEWAY_MS = 60_000
const HOLD_SECONDS_MAX = HOLD_MAX_MS / 1000

type Terms = {
  payTo: string
  amount: number
  network: string
  purpose?: Uint8Array
  lifeMs?: number
  holdSeconds?: number
}
/** What a payee requires, as x402 writes it. */
export type HeaderTerms = Pick<Terms, 'payTo' | 'amount' | 'network'> & {
  interaction: string | undefined
  seconds: number | undefined
  extra: Record<string, unknown> | undefined
}

export class Wallet {
  readonly #ctx: Needs
  readonly #parts: PaymentParts
  readonly #holds: Holds

  constructor(ctx: Needs, parts: PaymentParts, holds: Holds) {
    this.#parts = parts
    this.#ctx = ctx
    this.#holds = holds
  }

  /** The value of a `PAYMENT-SIGNATURE` header for requirements that a payee made; settles nothing. */
  header(given: HeaderTerms): string {
    const { store } = this.#ctx
    const { payTo: provider, amount, network, seconds = HEADER_SECONDS, extra = {} } = given
    const lifeMs = Math.min(seconds * 1000 + LEEWAY_MS, AUTHORIZATION_LIFE_MAX_MS)
    const holdSeconds = holdSecondsIn(extra)
    return store.transaction(() => {
      const authorization = this.#sign({
        payTo: provider,
        amount,
        network,
        lifeMs,
        ...present({ holdSeconds }),
      })
      this.#record(authorization, given.interaction ?? '')
      const quote = { provider, what: '', amount, network, holdSeconds: undefined, settleSeconds: seconds }
      const payload = paymentPayload(quote, Authorization.encode(authorization))
      // the payee compares all of them with its own, an empty extra as well
      const accepted = { ...payload.accepted, extra }
      return toBase64(utf8(JSON.stringify({ ...payload, accepted })))
    }, 'node.pay')
  }

  /** Gives credits back to the hub, which pays out against the reference; the same again asks for the same redemption. */
  async redeem(home: HubClient, amount: number, reference: string, signal: AbortSignal) {
    const { store, chain } = this.#ctx
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
      const says = plainLine(answer.says, REASON_CHARACTERS_MAX)
      return refuse('hub_refused', `the hub redeemed nothing: ${says}`, 'svc balance')
    }
    const authorization = Authorization.decode(encoded)
    const kinds = [settlementKinds.redeemed]
    const fault = await this.#parts.receipts.faultOf(home, answer.receipt, { authorization, kinds })
    if (fault !== undefined) {
      this.#ctx.log.error({ fault }, 'the receipt of a redemption does not hold')
      return refuse(
        'hub_refused',
        'the hub answered with a receipt that does not hold; ask again',
        'svc balance',
      )
    }
    const authId = cidText(transactionOf(authorization))
    store.transaction(() => {
      endRedemption(store, terms)
      chain.append('svc.credit.redeemed', {
        amount,
        reference,
        auth_id: authId,
        verified: true,
        receipt: answer.receipt,
      })
    }, 'node.payment')
    return { amount, reference, auth_id: authId, verified: true }
  }

  /** Whether nothing can come of it any more unless the hub has carried it out: its key or its time is over. */
  #isOld(encoded: Uint8Array): boolean {
    const { identity, hubNow } = this.#ctx
    const { payerKelSeq, notAfter } = Authorization.decode(encoded).body
    return payerKelSeq !== identity.log.seq || hubNow() > notAfter + TOLERANCE_MS
  }

  #redeemed(home: HubClient, encoded: Uint8Array, reference: string, signal: AbortSignal) {
    const ask = () => home.credits.redeem(encoded, reference, signal)
    return this.#isOld(encoded) ? ask() : withNewestKey(this.#ctx.identity, home, ask)
  }

  /** What became of payments of which nothing was heard, on both sides. */
  async askForReceipts(home: HubClient, signal: AbortSignal) {
    const { store } = this.#ctx
    const network = networkOf(home.identity.aid)
    const asked = await this.#parts.silent.ask(home, signal)
    const { returned, taken } = await this.#parts.unsettled.ask(home, signal)
    for (const row of heldForUs(store, network))
      if (row.state === 'ending') await this.#holds.end(row, signal)
    return { ...asked, settled: [...asked.settled, ...taken], returned, open: this.#open(network) }
  }

  /** Holds of whose end the hub has signed nothing: all for this node, and those of its own that are not told true. */
  #open(network: string) {
    const { store, threads } = this.#ctx
    const open = [...heldForUs(store, network), ...unprovenOut(store, network)]
    return open.map(({ interaction, payment, amount, problem }) => ({
      interaction_id: threads.byKey(interaction).id,
      transaction: cidText(payment),
      amount,
      ...present({ problem: problem ?? undefined }),
    }))
  }

  #prepare(home: HubClient, given: { amount: number; reference: string }): Uint8Array {
    const { store } = this.#ctx
    return store.transaction(() => {
      const network = networkOf(home.identity.aid)
      const purpose = redemptionPurpose(given.reference)
      const { amount } = given
      const authorization = this.#sign({ payTo: home.identity.aid, amount, network, purpose })
      const encoded = Authorization.encode(authorization)
      keepRedemption(store, { ...given, authorization: encoded })
      this.#record(authorization, '')
      return encoded
    }, 'node.pay')
  }

  #sign({
    payTo,
    amount,
    network,
    purpose,
    lifeMs = AUTHORIZATION_LIFE_MAX_MS,
    holdSeconds,
  }: Terms): Authorization {
    const { identity, hubNow, random } = this.#ctx
    const notBefore = hubNow()
    const notAfter = notBefore + lifeMs
    const holdUntil = holdSeconds === undefined ? undefined : notAfter + holdSeconds * 1000
    return Authorization.sign(identity.seed, {
      v: 1,
      payer: identity.aid,
      payerKelSeq: identity.log.seq,
      payTo,
      amount,
      network,
      nonce: random(NONCE_BYTES),
      notBefore,
      notAfter,
      ...present({ purpose, holdUntil }),
    })
  }

  #record(authorization: Authorization, interaction: string): void {
    const { payTo, amount, network } = authorization.body
    this.#ctx.chain.append('svc.payment.authorized', {
      interaction_id: interaction,
      authorization_id: cidText(transactionOf(authorization)),
      pay_to: payTo,
      amount,
      network,
    })
  }
}

/** For how long the payee wants its credits held; it is signed where it asks for it. */
function holdSecondsIn({ hold_s: seconds }: Record<string, unknown>): number | undefined {
  if (seconds === undefined) return undefined
  if (typeof seconds !== 'number' || !Number.isInteger(seconds) || seconds < 1 || seconds > HOLD_SECONDS_MAX)
    return refuse('bad_request', `expected hold_s in whole seconds, from 1 to ${HOLD_SECONDS_MAX}`)
  return seconds
}
