/**
 * Credits that a provider gives back after it took them: an authorization that names the payment. Whoever has it may have the
 * hub settle it, so it travels to the requester where the task still takes words, and both sides ask the hub.
 */
import { cidText } from '../../protocol/crypto/hash.ts'
import { equal, Malformed } from '../../protocol/encoding/bytes.ts'
import { plainLine } from '../../protocol/encoding/plain-text.ts'
import {
  AUTHORIZATION_LIFE_MAX_MS,
  Authorization,
  networkOf,
  settlementKinds,
  transactionOf,
} from '../../protocol/proof/payment.ts'
import type { Context } from '../context.ts'
import type { HubClient } from '../hubs/hub.ts'
import { refuse } from '../refusal.ts'
import type { Store } from '../store/open.ts'
import { toldRefunds, waitingRefunds } from '../store/open-payments.ts'
import { addGivenBack, keepRefund, keepRefundTold, type PaymentRow, paymentOf } from '../store/payments.ts'
import { isRefundNoted, noteRefund } from '../store/refunds.ts'
import type { Interaction } from '../store/threads.ts'
import { withNewestKey } from './accounts.ts'
import { faultOf } from './receipts.ts'

type Needs = Pick<
  Context,
  'identity' | 'store' | 'chain' | 'threads' | 'hub' | 'hubNow' | 'random' | 'log' | 'events' | 'wakers'
>
export type RefundNeeds = Pick<
  Context,
  'identity' | 'store' | 'chain' | 'hubNow' | 'log' | 'events' | 'wakers'
>
type Keeping = Pick<Context, 'store' | 'identity' | 'wakers'>

const NONCE_BYTES = 16
/** Clocks may differ, so one that has ended may be moved a little longer. */
const TOLERANCE_MS = 4 * 60_000
const SETTLE_SECONDS = 300
const REASON_CHARACTERS_MAX = 300

export type PreparedRefund = { row: PaymentRow; encoded: Uint8Array; amount: number; isNew: boolean }

/** The authorization that gives a payment back, signed once; runs inside a transaction. */
export function prepareRefund(
  ctx: Pick<Context, 'identity' | 'store' | 'chain' | 'random' | 'hubNow'>,
  interaction: Interaction,
  asked: number | undefined,
  isRenewed = false,
): PreparedRefund {
  const { store, identity, chain, random, hubNow } = ctx
  const row = paymentOf(store, interaction.key)
  const taken = row?.side === 'payee' && row.state === 'ended' ? (row.moved ?? 0) : 0
  if (row === undefined || taken === 0)
    return refuse('wrong_state', 'no credits were taken for this task', `svc thread ${interaction.id}`)
  if (row.refunded !== null)
    return refuse('wrong_state', 'credits of this task were given back already', 'svc balance')
  const amount = asked ?? taken
  if (amount > taken)
    return refuse('bad_request', `only ${taken} credits were taken for this task; give back at most that`)
  const held = row.refund ?? undefined
  const before = held && Authorization.decode(held)
  if (before !== undefined && !isRenewed && before.body.amount !== amount && !isOver(ctx, before))
    return refuse('wrong_state', `giving back ${before.body.amount} credits is under way; repeat that amount`)
  // one whose time is over may have been carried out: the hub says
  if (held !== undefined && !isRenewed) return { row, encoded: held, amount, isNew: false }
  const notBefore = hubNow()
  const authorization = Authorization.sign(identity.seed, {
    v: 1,
    payer: identity.aid,
    payerKelSeq: identity.log.seq,
    payTo: interaction.peer,
    amount,
    network: row.network,
    nonce: random(NONCE_BYTES),
    notBefore,
    notAfter: notBefore + AUTHORIZATION_LIFE_MAX_MS,
    refundOf: row.payment,
  })
  const encoded = Authorization.encode(authorization)
  keepRefund(store, interaction.key, encoded)
  chain.append('svc.payment.authorized', {
    interaction_id: interaction.id,
    authorization_id: cidText(transactionOf(authorization)),
    pay_to: interaction.peer,
    amount,
    network: row.network,
  })
  return { row, encoded, amount, isNew: true }
}

const isOver = ({ hubNow }: Pick<Context, 'hubNow'>, { body }: Authorization): boolean =>
  body.notAfter + TOLERANCE_MS <= hubNow()

/** What was signed to be given back under the key that this node has no more; a hub takes it only if it has it already. */
const isOfOldKey = ({ identity }: Pick<Context, 'identity'>, encoded: Uint8Array): boolean =>
  Authorization.decode(encoded).body.payerKelSeq !== identity.log.seq

/** Has the hub move what was signed; a repeat gets the same receipt. `renew` signs it anew, under the newest key. */
export async function settleRefund(
  ctx: Needs,
  home: HubClient,
  interaction: Interaction,
  { prepared, renew, signal }: { prepared: PreparedRefund; renew: () => PreparedRefund; signal: AbortSignal },
) {
  const { row, amount } = prepared
  const first = await ask(ctx, home, interaction, prepared.encoded, signal)
  const mayRenew = isOfOldKey(ctx, prepared.encoded) || isOver(ctx, Authorization.decode(prepared.encoded))
  const settled =
    'says' in first && mayRenew ? await ask(ctx, home, interaction, renew().encoded, signal) : first
  if ('says' in settled)
    return refuse('hub_refused', `the hub gave nothing back: ${settled.says}`, 'svc balance')
  ctx.store.transaction(() => {
    if ((paymentOf(ctx.store, interaction.key)?.refunded ?? null) !== null) return
    addGivenBack(ctx.store, row.payment, settled.amount)
    record(ctx, interaction, settled)
  }, 'node.payment')
  const { verified, transaction } = settled
  if (settled.amount !== amount)
    return refuse(
      'wrong_state',
      `${settled.amount} credits of this task were given back already`,
      'svc balance',
    )
  return { interaction_id: interaction.id, amount, transaction, verified }
}

/** An authorization that came from the provider of a task that was paid for; anything else is passed over. */
export function takeRefund(
  { store, identity, wakers }: Keeping,
  interaction: Interaction,
  encoded: Uint8Array,
): void {
  const row = paymentOf(store, interaction.key)
  const body = bodyOf(encoded)
  const isOfThis =
    row?.side === 'payer' &&
    body?.payer === interaction.peer &&
    body.payTo === identity.aid &&
    body.network === row.network &&
    body.amount <= row.amount &&
    body.holdUntil === undefined &&
    body.refundOf !== undefined &&
    equal(body.refundOf, row.payment)
  if (!isOfThis || isNoted(store, encoded)) return
  keepRefundTold(store, interaction.key, encoded)
  store.afterCommit(() => wakers.spending.wake())
}

function bodyOf(encoded: Uint8Array): Authorization['body'] | undefined {
  try {
    return Authorization.decode(encoded).body
  } catch (error) {
    if (error instanceof Malformed) return undefined
    throw error
  }
}

const transactionIn = (encoded: Uint8Array): Uint8Array => transactionOf(Authorization.decode(encoded))

/** In whose credits providers gave something back and no hub has moved it yet. */
export const takenNetworks = (store: Store): string[] => toldRefunds(store).map(({ network }) => network)

/** Tasks of which this node signed to give something back, and the hub has not moved it. */
export const pendingRefunds = (store: Store): PaymentRow[] => waitingRefunds(store)

/** Asks a hub for what providers gave back; what it does not move is asked for until its time is over. */
export async function settleTaken(ctx: Needs, home: HubClient, signal: AbortSignal): Promise<void> {
  const own = networkOf(home.identity.aid)
  for (const { interaction: key, refundTold: encoded, network } of toldRefunds(ctx.store)) {
    if (network !== own) continue
    if (signal.aborted) return
    const { notAfter } = Authorization.decode(encoded).body
    const interaction = ctx.threads.byKey(key)
    const settled = await ask(ctx, home, interaction, encoded, signal)
    ctx.store.transaction(() => {
      if (!('says' in settled) || ctx.hubNow() > notAfter + TOLERANCE_MS) keepRefundTold(ctx.store, key, null)
      if ('says' in settled) return
      noteRefund(ctx.store, { id: transactionIn(encoded), amount: settled.amount })
      if (settled.verified) countBack(ctx.store, encoded, settled.amount)
      record(ctx, interaction, settled)
    }, 'node.payment')
    if ('says' in settled) ctx.log.warn({ says: settled.says }, 'the hub refused a refund')
  }
}

/** Whether what became of a refund stands here. */
export const isNoted = (store: Store, encoded: Uint8Array): boolean =>
  isRefundNoted(store, transactionIn(encoded))

/**
 * Counts a refund that its hub shows and this node has no record of: the hub gives its receipt to whoever repeats it. One
 * for which it gives none is not counted, and asked about again.
 */
export async function takeUpRefund(
  ctx: RefundNeeds,
  home: Asked,
  interaction: Interaction,
  { encoded, signal }: { encoded: Uint8Array; signal: AbortSignal },
): Promise<void> {
  const settled = await ask(ctx, home, interaction, encoded, signal)
  if ('says' in settled || !settled.verified) {
    const says = 'says' in settled ? settled.says : 'a receipt that does not hold'
    ctx.log.error({ says }, 'the hub shows a refund and signs no receipt')
    return
  }
  ctx.store.transaction(() => {
    if (isNoted(ctx.store, encoded)) return
    noteRefund(ctx.store, { id: transactionIn(encoded), amount: settled.amount })
    countBack(ctx.store, encoded, settled.amount)
    record(ctx, interaction, settled)
  }, 'node.payment')
}

function countBack(store: Store, encoded: Uint8Array, amount: number): void {
  const { refundOf } = Authorization.decode(encoded).body
  if (refundOf === undefined) throw new Error('this authorization gives nothing back')
  addGivenBack(store, refundOf, amount)
}

type Asked = Pick<HubClient, 'credits' | 'identity' | 'refresh' | 'pushLog'>
type Moved = { transaction: string; amount: number; network: string; verified: boolean; receipt: Uint8Array }

async function ask(
  ctx: RefundNeeds,
  home: Asked,
  interaction: Interaction,
  encoded: Uint8Array,
  signal: AbortSignal,
): Promise<Moved | { says: string }> {
  const authorization = Authorization.decode(encoded)
  const { payTo: provider, amount, network, notBefore } = authorization.body
  const quote = { provider, what: '', amount, network, holdSeconds: undefined, settleSeconds: SETTLE_SECONDS }
  const settle = () => home.credits.settle(encoded, quote, signal)
  const isOwn = authorization.body.payer === ctx.identity.aid && !isOfOldKey(ctx, encoded)
  const answer = isOwn ? await withNewestKey(ctx.identity, home, settle) : await settle()
  if ('refused' in answer) return { says: plainLine(answer.says, REASON_CHARACTERS_MAX) }
  const kinds = [settlementKinds.paid]
  const asked = { authorization, kinds, askedAtMs: notBefore }
  const fault = await faultOf(ctx, home, answer.receipt, asked)
  if (fault !== undefined)
    ctx.log.error({ fault, interaction: interaction.id }, 'the receipt of a refund does not hold')
  const transaction = cidText(transactionOf(authorization))
  return { transaction, amount, network, verified: fault === undefined, receipt: answer.receipt }
}

function record({ chain, events, store }: RefundNeeds, interaction: Interaction, moved: Moved): void {
  const { transaction, amount, network, verified, receipt } = moved
  const proof = verified ? { auth_id: transaction, receipt } : {}
  const settled = { interaction_id: interaction.id, transaction, amount, network, verified, ...proof }
  chain.append('svc.payment.settled', settled)
  const about = { interaction_id: interaction.id, peer: interaction.peer }
  store.afterCommit(() => events.emit('message', about))
  store.afterCommit(() => events.emit('hub'))
}
