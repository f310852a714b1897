/** Operations on prices and payments, and what a reader of a task sees of its price. */

import { CREDITS_MAX } from '../../protocol/contract/limits.ts'
import { toHex } from '../../protocol/encoding/bytes.ts'
import { shownLine } from '../../protocol/encoding/plain-text.ts'
import { present } from '../../protocol/encoding/present.ts'
import { hubOfNetwork, networkOf } from '../../protocol/proof/payment.ts'
import { TASK } from '../../protocol/proof/quote.ts'
import type { Context } from '../context.ts'
import { type SpendConfig, spendDefaults } from '../home/payment-config.ts'
import type { Membership } from '../membership/home.ts'
import type { Modules } from '../modules/modules.ts'
import { type AccountView, compareAccount } from '../payments/account.ts'
import type { Audit, AuditReport } from '../payments/audit.ts'
import { givenBack, type PreparedRefund, prepareRefund, settleRefund } from '../payments/refunds.ts'
import type { Wallet } from '../payments/wallet.ts'
import { refuse } from '../refusal.ts'
import { type PaymentRow, paymentOf, quoteOf, spentSince } from '../store/payments.ts'
import type { Interaction } from '../store/threads.ts'
import { type ConversationNeeds, maySend, say } from '../tasks/conversation.ts'
import { refundMessage } from '../tasks/messages.ts'
import { accountHub } from './accounts.ts'
import type { PaymentOperations } from './handlers.ts'
import { hubAsked } from './hub-call.ts'

type Needs = ConversationNeeds & Pick<Context, 'hub' | 'random' | 'log'>

export type PaymentParts = {
  modules: Pick<Modules, 'list' | 'priceOf'>
  /** Undefined in a build that pays nobody. */
  wallet: Pick<Wallet, 'header' | 'redeem' | 'askForReceipts'> | undefined
  audit: Pick<Audit, 'run' | 'accept'> | undefined
  membership: Pick<Membership, 'account' | 'accounts'>
}

const DAY_MS = 86_400_000
const REFERENCE_BYTES = 8
const REDEEM_MS = 20_000
const AUDIT_MS = 10 * 60_000
const NO_SUPPORT = 'this build has no payment support'

export function paymentOperations(
  ctx: Needs,
  { modules, wallet, audit, membership }: PaymentParts,
): PaymentOperations {
  const list = () => priceList(ctx, modules)
  const requirePayments = () => wallet ?? refuse('no_credits', NO_SUPPORT, 'svc version')
  const accountAt = (url: string | undefined) => accountHub(ctx, membership, url)
  const hubOf = (network: string) => {
    const hub = membership.accounts().find(({ identity }) => networkOf(identity.aid) === network)
    return accountAt(hub === ctx.hub.last ? undefined : hub?.url)
  }
  return {
    async auditHub({ all = false, accept, hub: url }) {
      requirePayments()
      const hub = await accountAt(url)
      if (accept === true) audit?.accept(hub.identity.aid)
      const work = (signal: AbortSignal) => audit?.run(hub, { all, signal })
      const report = await hubAsked(ctx.identity, async signal => work(signal), AUDIT_MS)
      return report === undefined ? refuse('no_credits', NO_SUPPORT) : reportView(report)
    },
    async prices() {
      return list()
    },
    async priceSet({ capability, amount }) {
      requirePayments()
      const served = modules.list().find(one => one.capability === capability)
      if (served === undefined && capability !== TASK)
        return refuse('bad_request', `this node does not serve ${capability}`, 'svc capability ls')
      if (amount === 0 && modules.priceOf(capability) === undefined)
        refuse('bad_request', `${capability} has no price`, 'svc price ls')
      ctx.settings.change({ prices: { ...ctx.settings.current.prices, [capability]: amount } })
      return list()
    },
    async spend() {
      const today = Math.floor(ctx.hubNow() / DAY_MS) * DAY_MS
      return { ...spendOf(ctx), spent_today: spentSince(ctx.store, today, undefined) }
    },
    async spendSet(given) {
      requirePayments()
      const next = { ...spendOf(ctx), ...given } as SpendConfig
      requireSense(next)
      ctx.settings.change({ spend: next })
      return next
    },
    async payHeader(given) {
      const paying = requirePayments()
      const payTo =
        ctx.contacts.resolve(given.pay_to) ?? refuse('unknown_peer', `"${given.pay_to}" is not a contact`)
      const network = given.network ?? networkOf((await accountAt(given.hub)).identity.aid)
      if (hubOfNetwork(network) === undefined)
        refuse('bad_request', 'expected a network: hub: and the AID of the hub')
      const { amount, interaction_id: interaction, timeout_s: seconds, extra } = given
      return { header: paying.header({ payTo, amount, network, interaction, seconds, extra }) }
    },
    async redeem({ amount, reference, hub: url }) {
      const paying = requirePayments()
      const own = reference ?? `svc-${toHex(ctx.random(REFERENCE_BYTES))}`
      const hub = await accountAt(url)
      return await hubAsked(ctx.identity, signal => paying.redeem(hub, amount, own, signal), REDEEM_MS)
    },
    async refund({ interaction_id: id, amount }) {
      requirePayments()
      const interaction =
        ctx.threads.findById(id) ?? refuse('unknown_interaction', `there is no interaction ${id}`)
      const hub = await hubOf(paymentOf(ctx.store, interaction.key)?.network ?? '')
      const prepared = ctx.store.transaction(() => giveBack(ctx, interaction, amount), 'node.pay')
      const settle = (signal: AbortSignal) => settleRefund(ctx, hub, interaction, prepared, signal)
      return await hubAsked(ctx.identity, settle, REDEEM_MS)
    },
    async reconcile({ hub: url }) {
      const paying = requirePayments()
      const hub = await accountAt(url)
      const asked = await hubAsked(ctx.identity, signal => paying.askForReceipts(hub, signal), REDEEM_MS)
      const compare = (signal: AbortSignal) => compareAccount(ctx, hub, signal)
      const account = await hubAsked(ctx.identity, compare, REDEEM_MS)
      return { network: networkOf(hub.identity.aid), ...comparedView(account), ...asked }
    },
  }
}

const comparedView = ({ entries, unsigned, missing, short }: AccountView) => ({
  entries: entries.length,
  agrees: unsigned.length === 0 && missing.length === 0 && short === undefined,
  unknown: unsigned.map(({ transaction = '', delta, atMs: at }) => ({
    transaction: shownLine(transaction),
    delta,
    at,
  })),
  missing: missing.map(({ transaction, kind, amount, atMs: at }) => ({ transaction, kind, amount, at })),
  ...present({ short }),
})

/** Signs what goes back, and says so to the requester where the task still takes words. */
function giveBack(ctx: Needs, interaction: Interaction, amount: number | undefined): PreparedRefund {
  const prepared = prepareRefund(ctx, interaction, amount)
  if (prepared.isNew && maySend(interaction)) say(ctx, interaction, refundMessage(prepared))
  return prepared
}

function priceList({ hub }: Needs, modules: Pick<Modules, 'list' | 'priceOf'>) {
  const network = hub.last === undefined ? undefined : networkOf(hub.last.identity.aid)
  const priced = [...modules.list(), { capability: TASK, price: modules.priceOf(TASK) }]
  const prices = priced.flatMap(({ capability, price }) =>
    price === undefined ? [] : [{ capability, amount: price, ...present({ network }) }],
  )
  return { prices }
}

const reportView = (report: AuditReport) => ({
  hub: report.hub,
  verified: report.fault === undefined,
  records: report.records,
  head_seq: report.headSeq,
  head_id: report.headId,
  issued: report.issued,
  retired: report.retired,
  ...present({
    fault: report.fault,
    day: report.day,
    owed: report.owed,
    witnessed_seq: report.witnessed?.seq,
    witnessed_at: report.witnessed?.atMs,
  }),
})

const spendOf = ({ settings }: Pick<Needs, 'settings'>): SpendConfig =>
  settings.current.spend ?? spendDefaults

/** A limit that another one makes void would look like a permission. */
function requireSense({ auto_max, agent_max, day_max, payee_day_max }: SpendConfig): void {
  const once = Math.max(auto_max, agent_max)
  if (once === 0) return
  if (day_max < once)
    refuse(
      'bad_request',
      `so much for one payment needs at least ${once} a day`,
      `svc spend set --day ${once}`,
    )
  if (payee_day_max < once)
    refuse(
      'bad_request',
      `so much for one payment needs at least ${once} a day for one agent`,
      `svc spend set --payee-day ${Math.min(once, CREDITS_MAX)}`,
    )
}

/** What became of a payment, by the state of its row, what moved, and what was given back of that. */
export function paidState(store: Context['store'], row: PaymentRow) {
  const { state, moved, reason, payment } = row
  if (state === 'ended')
    return (moved ?? 0) > givenBack(store, payment) ? ('taken' as const) : ('returned' as const)
  if (state === 'authorized' && reason !== null) return 'refused' as const
  return state === 'ending' ? ('held' as const) : state
}

function paidView(store: Context['store'], row: PaymentRow) {
  const back = givenBack(store, row.payment)
  return { state: paidState(store, row), ...present({ given_back: back === 0 ? undefined : back }) }
}

/** What a task costs, and what became of it; undefined where it has no price. */
export function paymentView(
  { store, threads }: Pick<Context, 'store' | 'threads'>,
  interaction: Interaction,
) {
  const own = paymentOf(store, interaction.key)
  if (own !== undefined) {
    const { amount, network, reason } = own
    return { amount, network, ...paidView(store, own), ...present({ reason: reason ?? undefined }) }
  }
  const quote = quoteOf(store, interaction.key)
  if (quote === undefined || quote.amount === null || quote.network === null) return undefined
  const { amount, network, paidAs, reason } = quote
  const paid = paidAs === null ? undefined : paymentOf(store, paidAs)
  return {
    amount,
    network,
    ...(paid === undefined ? { state: 'open' as const } : paidView(store, paid)),
    ...present({
      paid_as: paidAs === null ? undefined : threads.byKey(paidAs).id,
      reason: paid?.reason ?? reason ?? undefined,
    }),
  }
}
