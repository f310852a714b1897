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
import { forget, recall, remember } from '../store/memory.ts'
import { askForEnds } from './ends.ts'
import { askForReceipts, faultOf } from './receipts.ts'

type Needs = Pick<
  Context,
  'identity' | 'store' | 'chain' | 'hub' | 'hubNow' | 'random' | 'log' | 'events' | 'wakers' | 'threads'
>

const NONCE_BYTES = 16
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

  constructor(ctx: Needs) {
    this.#ctx = ctx
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
    const name = `redemption ${amount} ${reference}`
    const encoded = recall(store, name) ?? this.#prepare(home, { amount, reference, name })
    const authorization = Authorization.decode(encoded)
    const answer = await home.credits.redeem(encoded, reference, signal)
    if ('refused' in answer) {
      forget(store, name)
      const says = plainLine(answer.says, REASON_CHARACTERS_MAX)
      return refuse('hub_refused', `the hub redeemed nothing: ${says}`, 'svc balance')
    }
    const kinds = [settlementKinds.redeemed]
    const fault = await faultOf(this.#ctx, home, answer.receipt, { authorization, kinds })
    const verified = fault === undefined
    if (!verified) this.#ctx.log.error({ fault }, 'the receipt of a redemption does not hold')
    const authId = cidText(transactionOf(authorization))
    store.transaction(() => {
      forget(store, name)
      chain.append('svc.credit.redeemed', {
        amount,
        reference,
        auth_id: authId,
        verified,
        receipt: answer.receipt,
      })
    }, 'node.payment')
    return { amount, reference, auth_id: authId, verified }
  }

  /** What became of payments of which nothing was heard. */
  async askForReceipts(home: HubClient, signal: AbortSignal) {
    const asked = await askForReceipts(this.#ctx, home, signal)
    const { returned, taken } = await askForEnds(this.#ctx, home, signal)
    return { ...asked, settled: [...asked.settled, ...taken], returned }
  }

  #prepare(home: HubClient, given: { amount: number; reference: string; name: string }): Uint8Array {
    const { store } = this.#ctx
    return store.transaction(() => {
      const network = networkOf(home.identity.aid)
      const purpose = redemptionPurpose(given.reference)
      const { amount } = given
      const authorization = this.#sign({ payTo: home.identity.aid, amount, network, purpose })
      const encoded = Authorization.encode(authorization)
      remember(store, given.name, encoded)
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
