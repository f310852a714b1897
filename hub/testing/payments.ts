/** For tests: authorizations, the requests of x402 that carry them, and orders about holds, as a node makes them. */
import { cidText } from '../../protocol/crypto/hash.ts'
import { fromBase64url, toBase64url } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import {
  Authorization,
  type AuthorizationBody,
  HoldOrder,
  networkOf,
  redemptionPurpose,
  SettlementReceipt,
  transactionOf,
} from '../../protocol/proof/payment.ts'
import { HOUR_MS } from '../core/limits.ts'
import { callRoute, type Reply, random, type TestAgent, type TestHub } from './hub.ts'

const LOOK_MS = HOUR_MS / 4

export type Paying = Partial<Omit<AuthorizationBody, 'v'>> & {
  /** Signs in the payer's place. */
  seed?: Uint8Array
  /** Asks for a hold of so many seconds after the authorization's end. */
  holdSeconds?: number
}

/** Whoever signs for its credits at a hub. */
export type Payer = Pick<TestAgent, 'aid' | 'seed'> & {
  log: Pick<TestAgent['log'], 'seq'>
  target: Pick<TestAgent['target'], 'aid' | 'clock'>
}

export type Paid = { authorization: Authorization; transaction: string; request: Record<string, unknown> }

/** An authorization of so many credits and the request that settles it; members may be changed. */
export function payment(from: Payer, to: { aid: string }, amount: number, more: Paying = {}): Paid {
  const { seed = from.seed, holdSeconds, ...members } = more
  const nowMs = from.target.clock.now()
  const notAfter = members.notAfter ?? nowMs + HOUR_MS / 2
  const authorization = Authorization.sign(seed, {
    v: 1,
    payer: from.aid,
    payerKelSeq: from.log.seq,
    payTo: to.aid,
    amount,
    network: networkOf(from.target.aid),
    nonce: random(16),
    notBefore: nowMs,
    ...present({ holdUntil: holdSeconds === undefined ? undefined : notAfter + holdSeconds * 1000 }),
    ...members,
    notAfter,
  })
  const terms = {
    scheme: 'svc-credit',
    network: networkOf(from.target.aid),
    amount: String(amount),
    asset: 'credit',
    payTo: to.aid,
    maxTimeoutSeconds: 60,
    ...present({ extra: holdSeconds === undefined ? undefined : { hold_s: holdSeconds } }),
  }
  return { authorization, transaction: idOf(authorization), request: requestOf(authorization, terms) }
}

export type GivenTerms = Record<string, unknown>

/** The request of a facilitator for an authorization under these terms. */
export function requestOf(authorization: Authorization, terms: GivenTerms): Record<string, unknown> {
  return {
    x402Version: 2,
    paymentPayload: payloadOf(authorization, terms),
    paymentRequirements: terms,
  }
}

const payloadOf = (authorization: Authorization, terms: GivenTerms): Record<string, unknown> => ({
  x402Version: 2,
  accepted: terms,
  payload: { authorization: toBase64url(Authorization.encode(authorization)) },
})

/** The request that takes credits out for a reference. */
export function redemption(from: Payer, amount: number, reference: string, more: Paying = {}): Paid {
  const hub = { aid: from.target.aid }
  const paid = payment(from, hub, amount, { purpose: redemptionPurpose(reference), ...more })
  const { x402Version, paymentPayload } = paid.request
  return { ...paid, request: { x402Version, paymentPayload, reference } }
}

export const idOf = (authorization: Authorization): string => cidText(transactionOf(authorization))

/** The order of a payee about a hold. */
export function order(
  by: TestAgent,
  { authorization }: Paid,
  amount: number,
  seed = by.seed,
): Record<string, unknown> {
  const signed = HoldOrder.sign(seed, {
    v: 1,
    transaction: transactionOf(authorization),
    amount,
    payee: by.aid,
    payeeKelSeq: by.log.seq,
    madeAt: by.target.clock.now(),
  })
  return { order: toBase64url(HoldOrder.encode(signed)) }
}

type PaymentRoute = 'x402Verify' | 'x402Settle' | 'x402Redeem' | 'x402Capture' | 'x402Release'

export const ask = (hub: Pick<TestHub, 'url'>, route: PaymentRoute, request: unknown): Promise<Reply> =>
  callRoute(hub, route, request)

/** The settlement receipt in an answer. */
export function receiptOf({ json }: Reply): SettlementReceipt {
  const extensions = json['extensions'] as Record<string, string>
  return SettlementReceipt.decode(fromBase64url(extensions['svc.settlement.receipt'] as string))
}

/** Gives credits as the operator does. */
export async function grant(hub: TestHub, aid: string, amount: number): Promise<void> {
  const id = Buffer.from(random(16)).toString('hex')
  await hub.running.order({ command: 'grant', aid, amount, reason: 'a test', id })
}

/** What an agent's account says. */
export async function balanceOf(agent: TestAgent): Promise<{ balance: number; held: number }> {
  const { json } = await agent.call('balance', undefined, { params: { aid: agent.aid } })
  return { balance: Number(json['balance']), held: Number(json['held']) }
}

/** Time goes by as on a clock that is right: the hub sees it pass. */
export function pass(hub: TestHub, ms: number): void {
  const { clock } = hub.running.hub.credits.holds
  for (let left = ms; left > 0; left -= LOOK_MS) {
    hub.clock.advance(Math.min(left, LOOK_MS))
    clock.look()
  }
}
