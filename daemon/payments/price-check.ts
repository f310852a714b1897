/** What stands before a run that has a price: the judgement of what came with the call, and the quote where it is nothing. */

import { parseCid } from '../../protocol/crypto/hash.ts'
import { equal, fromBase64url, Malformed } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import { decodePayload, kinds } from '../../protocol/mail/payload.ts'
import { buildEffect, type Effect } from '../../protocol/proof/effect.ts'
import { Authorization, purposeOf } from '../../protocol/proof/payment.ts'
import { type Quote, quoteText } from '../../protocol/proof/quote.ts'
import { alarmOf } from '../store/hub-accounts.ts'
import { isLocal } from '../store/interactions.ts'
import type { Store } from '../store/open.ts'
import type { Interaction, Threads } from '../store/threads.ts'

/** What came to pay with: an authorization and the salt that ties it to this task. */
export type Offer = { authorization: Authorization; encoded: Uint8Array; salt: Uint8Array }

/** A payment of sealed mail names the task that it is for, one over plain HTTP none: it is for the request at hand. */
function isPurposeOf(purpose: Uint8Array | undefined, { salt }: Offer, interaction: Interaction): boolean {
  if (isLocal(interaction)) return purpose === undefined
  const ours = purposeOf(salt, fromBase64url(interaction.id), parseCid(interaction.requestCid))
  return purpose !== undefined && equal(purpose, ours)
}

/** A payment is settled within the hour of its authorization; a hold lasts an hour beyond the work. */
const SETTLE_S = 3600
const HOLD_BEYOND_S = 3600

/** What a provider asks for work of so many seconds. */
export const quoteFor = (asked: {
  provider: string
  network: string
  what: string
  amount: number
  seconds: number
  starts: number | undefined
}): Quote => ({
  provider: asked.provider,
  what: asked.what,
  amount: asked.amount,
  network: asked.network,
  holdSeconds: Math.ceil(asked.seconds) + HOLD_BEYOND_S,
  settleSeconds: SETTLE_S,
  ...present({ starts: asked.starts }),
})

/** An authorization is settled within its hour, by the clock of a payer that may be two minutes off. */
const LATE_MS = 2 * 60_000

/** The answer that asks for payment; `why` says what was wrong with the payment that came. */
export const quoteEffect = (quote: Quote, why?: string): Effect =>
  buildEffect({ status: 'PAYMENT_REQUIRED', message: why ?? quoteText(quote) })

/** Why a node takes no credits for new work, whoever offers them. */
export type NotTaken = 'hub_in_doubt'

const NOT_TAKEN: Readonly<Record<NotTaken, string>> = {
  hub_in_doubt: 'this agent takes no credits of its hub for now: the hub contradicts what it signed',
}

/** Undefined where credits of a hub are taken. */
export const whyNotTaken = (store: Store, hub: string): NotTaken | undefined =>
  alarmOf(store, hub) === undefined ? undefined : 'hub_in_doubt'

/** Work is paid once it is done, which takes a hold. */
export const notHeldEffect: Effect = buildEffect({
  status: 'UNAVAILABLE',
  message: 'this agent takes credits of its hub for vouchers alone: the hub holds none until work is done',
})

export const notTakenEffect = (why: NotTaken): Effect =>
  buildEffect({ status: 'UNAVAILABLE', message: NOT_TAKEN[why] })

/** What came with the first message of a task; undefined where nothing did, or nothing that can be read. */
export function offerOf(threads: Threads, interaction: Interaction): Offer | undefined {
  const [first] = threads.messages(interaction.key, 0, 1)
  if (first === undefined) return undefined
  const message = threads.message(first.key)
  const decoded = decodePayload(message.kind, message.payload)
  if (decoded.kind !== kinds.delegate) return undefined
  const { paySalt: salt, authorization: encoded } = decoded.payload
  if (salt === undefined || encoded === undefined) return undefined
  try {
    return { authorization: Authorization.decode(encoded), encoded, salt }
  } catch (error) {
    if (error instanceof Malformed) return undefined
    throw error
  }
}

/** Why this authorization does not pay for this task, in words for its payer; the hub judges signature and funds. */
export function offerFault(
  offer: Offer,
  expected: { interaction: Interaction; quote: Quote; nowMs: number },
): string | undefined {
  const { interaction, quote, nowMs } = expected
  const { payer, payTo, amount, network, notAfter, purpose, holdUntil, refundOf } = offer.authorization.body
  if (payer !== interaction.peer) return 'the payment is of somebody else'
  if (payTo !== quote.provider) return 'the payment is to somebody else'
  if (network !== quote.network) return `the payment is not in credits of ${quote.network}`
  if (amount !== quote.amount) return `${quoteText(quote)}, and ${amount} came`
  if (refundOf !== undefined) return 'the payment gives another one back'
  if (!isPurposeOf(purpose, offer, interaction)) return 'the payment is for something else'
  if (notAfter < nowMs - LATE_MS) return 'the payment came after its time; pay anew'
  const wanted = quote.holdSeconds === undefined ? undefined : notAfter + quote.holdSeconds * 1000
  return holdUntil === wanted ? undefined : 'the payment is not held for as long as the work may take'
}
