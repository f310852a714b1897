/** Operations on prices and payments, and what a reader of a task sees of its price. */

import { CREDITS_MAX } from '../../protocol/contract/limits.ts'
import { Malformed } from '../../protocol/encoding/bytes.ts'
import { shownLine } from '../../protocol/encoding/plain-text.ts'
import { present } from '../../protocol/encoding/present.ts'
import { parseVerifierKey } from '../../protocol/proof/cosignature.ts'
import { hubOfNetwork, networkOf } from '../../protocol/proof/payment.ts'
import { TASK } from '../../protocol/proof/quote.ts'
import type { Context } from '../context.ts'
import { type SpendConfig, spendDefaults } from '../home/payment-config.ts'
import type { HubClient } from '../hubs/hub.ts'
import type { Membership } from '../membership/home.ts'
import type { Modules } from '../modules/modules.ts'
import { type AccountView, compareAccount } from '../payments/account.ts'
import type { Audit, AuditReport } from '../payments/audit.ts'
import { requireRefundsKnown } from '../payments/lost-orders.ts'
import { doubtOf, type LostPayment, sayDoubt, spentWithLost } from '../payments/lost-payments.ts'
import { openAt, referenceFor, requireNoneLost } from '../payments/redemptions.ts'
import { type PreparedRefund, prepareRefund, settleRefund } from '../payments/refunds.ts'
import type { Wallet } from '../payments/wallet.ts'
import { refuse } from '../refusal.ts'
import { givenBack, type PaymentRow, paymentOf } from '../store/payments.ts'
import { type QuoteRow, quoteOf } from '../store/quotes.ts'
import type { Interaction } from '../store/threads.ts'
import { type ConversationNeeds, maySend, say } from '../tasks/conversation.ts'
import { refundMessage } from '../tasks/messages.ts'
import { accountHub } from './accounts.ts'
import type { PaymentOperations } from './handlers.ts'
import { hubAsked } from './hub-call.ts'
import { lostOrderView } from './restored.ts'

type Needs = ConversationNeeds & Pick<Context, 'hub' | 'timers' | 'random' | 'log'>

export type PaymentParts = {
  modules: Pick<Modules, 'list' | 'priceOf' | 'startsOf'>
  /** Undefined in a build that pays nobody. */
  wallet: Pick<Wallet, 'header' | 'redeem' | 'askForReceipts'> | undefined
  audit: Pick<Audit, 'run' | 'accept'> | undefined
  membership: Pick<Membership, 'account' | 'accounts'>
}

const DAY_MS = 86_400_000
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
    async auditHub({ all = false, accept, hub: url, cosigner, forget_cosigner: forgotten }) {
      requirePayments()
      nameCosigners(ctx, cosigner, forgotten)
      const hub = await accountAt(url)
      if (accept === true) audit?.accept(hub.identity.aid)
      const work = (signal: AbortSignal) => audit?.run(hub, { all, signal })
      const report = await hubAsked(ctx, async signal => work(signal), AUDIT_MS)
      return report === undefined ? refuse('no_credits', NO_SUPPORT) : reportView(report)
    },
    prices: async () => list(),
    async priceSet(given) {
      requirePayments()
      setPrice(ctx, modules, given)
      return list()
    },
    async spend() {
      const today = Math.floor(ctx.hubNow() / DAY_MS) * DAY_MS
      return { ...spendOf(ctx), spent_today: spentWithLost(ctx, today, undefined) }
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
      requireAsked(ctx)
      const payTo =
        ctx.contacts.resolve(given.pay_to) ?? refuse('unknown_peer', `"${given.pay_to}" is not a contact`)
      const network = given.network ?? networkOf((await accountAt(given.hub)).identity.aid)
      if (hubOfNetwork(network) === undefined)
        refuse('bad_request', 'expected a network: hub: and the AID of the hub')
      const { amount, interaction_id: interaction, timeout_s: seconds, extra } = given
      return { header: paying.header({ payTo, amount, network, interaction, seconds, extra }) }
    },
    async redeem({ hub: url, ...given }) {
      const paying = requirePayments()
      requireAsked(ctx)
      const own = referenceFor(ctx, given)
      const hub = await (url === undefined ? hubOf(openAt(ctx, given.amount, own) ?? '') : accountAt(url))
      const redeemed = async (signal: AbortSignal) => {
        await requireNoneLost(ctx, hub, given, signal)
        return await paying.redeem(hub, given.amount, own, signal)
      }
      return await hubAsked(ctx, redeemed, REDEEM_MS)
    },
    async refund({ interaction_id: id, amount, again }) {
      requirePayments()
      requireAsked(ctx)
      const interaction =
        ctx.threads.findById(id) ?? refuse('unknown_interaction', `there is no interaction ${id}`)
      const hub = await hubOf(paymentOf(ctx.store, interaction.key)?.network ?? '')
      const prepare = () => ctx.store.transaction(() => giveBack(ctx, interaction, amount), 'node.pay')
      const renew = () =>
        ctx.store.transaction(
          () => giveBack(ctx, ctx.threads.byKey(interaction.key), amount, true),
          'node.pay',
        )
      const settle = async (signal: AbortSignal) => {
        await requireRefundsKnown(ctx, hub, interaction, { again, signal })
        return await settleRefund(ctx, hub, interaction, { prepared: prepare(), renew, signal })
      }
      return await hubAsked(ctx, settle, REDEEM_MS)
    },
    reconcile: async ({ hub: url }) => reconcile(ctx, requirePayments(), await accountAt(url)),
  }
}

/** No credits move before the hub was asked whether another copy has moved them. */
function requireAsked({ hub }: Needs): void {
  if (hub.unasked !== undefined) refuse('hub_unreachable', hub.unasked)
}

async function reconcile(ctx: Needs, paying: Pick<Wallet, 'askForReceipts'>, hub: HubClient) {
  const ask = () => hubAsked(ctx, signal => paying.askForReceipts(hub, signal), REDEEM_MS)
  const compare = () => hubAsked(ctx, signal => compareAccount(ctx, hub, signal), REDEEM_MS)
  const asked = await ask()
  const first = await compare()
  // what the hub lost is ordered anew, and shows whether it has it now
  const { open } = first.again ? await ask() : asked
  const compared = comparedView(first.again ? await compare() : first)
  const agrees = compared.agrees && open.every(({ problem }) => problem === undefined)
  return { network: networkOf(hub.identity.aid), ...compared, ...asked, open, agrees }
}

/** Takes up, or drops, a witness of transparency logs whose cosignatures this node goes by. */
function nameCosigners(
  ctx: Pick<Needs, 'settings'>,
  key: string | undefined,
  forgotten: string | undefined,
): void {
  if (key === undefined && forgotten === undefined) return
  const held = ctx.settings.current.cosigners ?? []
  const name = key === undefined ? forgotten : nameOfKey(key)
  const others = held.filter(one => nameOfKey(one) !== name)
  if (key === undefined && others.length === held.length)
    refuse('bad_request', `no witness of that name is known here: ${shownLine(name ?? '')}`)
  const next = key === undefined ? others : [...others, key]
  ctx.settings.change({ cosigners: next.length === 0 ? undefined : next })
}

function nameOfKey(key: string): string {
  try {
    return parseVerifierKey(key).name
  } catch (error) {
    if (!(error instanceof Malformed)) throw error
    return refuse(
      'bad_request',
      `${error.message}; its operator has it, such as witness.example+1a2b3c4d+BPdK…`,
    )
  }
}

type PriceGiven = { capability: string; amount: number; starts?: number | undefined }

/** Keeps what a capability costs; the card names it. */
function setPrice(
  ctx: Needs,
  modules: PaymentParts['modules'],
  { capability, amount, starts }: PriceGiven,
): void {
  const served = modules.list().find(one => one.capability === capability)
  if (served === undefined && capability !== TASK)
    refuse('bad_request', `this node does not serve ${capability}`, 'svc capability ls')
  if (amount === 0 && modules.priceOf(capability) === undefined)
    refuse('bad_request', `${capability} has no price`, 'svc price ls')
  ctx.settings.change(pricesWith(ctx, { capability, amount, starts }))
  ctx.wakers.rounds.wake()
}

/** The price of a capability and of its withdrawal; what was said of that before goes with the earlier price. */
function pricesWith(
  { settings }: Pick<Needs, 'settings'>,
  { capability, amount, starts }: { capability: string; amount: number; starts: number | undefined },
) {
  if (starts !== undefined && starts > amount)
    refuse(
      'bad_request',
      `a withdrawal cannot cost more than the work, ${amount} credits`,
      `svc price set ${capability} ${amount} --starts ${amount}`,
    )
  const { [capability]: _, ...others } = settings.current.starts ?? {}
  const next = starts === undefined ? others : { ...others, [capability]: starts }
  return {
    prices: { ...settings.current.prices, [capability]: amount },
    starts: Object.keys(next).length === 0 ? undefined : next,
  }
}

const comparedView = ({ entries, unsigned, afterBackup, missing, lost, short }: AccountView) => ({
  entries: entries.length,
  agrees:
    unsigned.length + missing.length + lost.length === 0 &&
    afterBackup.every(({ state }) => state === 'signed') &&
    short === undefined,
  unknown: unsigned.map(({ transaction = '', delta, atMs: at }) => ({
    transaction: shownLine(transaction),
    delta,
    at,
  })),
  after_backup: afterBackup.map(lostOrderView),
  missing: missing.map(({ transaction, kind, amount, atMs: at }) => ({ transaction, kind, amount, at })),
  ...present({ short }),
})

/** Signs what goes back, and says so to the requester where the task still takes words. */
function giveBack(
  ctx: Needs,
  interaction: Interaction,
  amount: number | undefined,
  isRenewed = false,
): PreparedRefund {
  const prepared = prepareRefund(ctx, interaction, amount, isRenewed)
  if (prepared.isNew && maySend(interaction)) say(ctx, interaction, refundMessage(prepared))
  return prepared
}

function priceList({ hub }: Needs, modules: PaymentParts['modules']) {
  const network = hub.last === undefined ? undefined : networkOf(hub.last.identity.aid)
  const priced = [...modules.list(), { capability: TASK, price: modules.priceOf(TASK) }]
  const prices = priced.flatMap(({ capability, price }) =>
    price === undefined
      ? []
      : [
          {
            capability,
            amount: price,
            starts: modules.startsOf(capability) ?? price,
            ...present({ network }),
          },
        ],
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
    after_backup: report.afterBackup.length === 0 ? undefined : report.afterBackup.map(lostOrderView),
    day: report.day,
    owed: report.owed,
    witnessed_seq: report.witnessed?.seq,
    witnessed_at: report.witnessed?.atMs,
    cosigned: cosignedView(report),
    uncosigned: report.cosigned.silent.length === 0 ? undefined : report.cosigned.silent,
  }),
})

function cosignedView({ cosigned: { trees } }: AuditReport) {
  const all = trees.flatMap(({ size: records, by }) =>
    by.map(({ name, atMs: at }) => ({ name, records, at })),
  )
  return all.length === 0 ? undefined : all
}

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

/** Also where the hub has lost what it signed at its end. */
const isEnded = ({ state, endReceipt }: PaymentRow): boolean =>
  state === 'ended' || (state === 'ending' && endReceipt !== null)

/** What became of a payment, by the state of its row, what moved, and what was given back of that. */
export function paidState(store: Context['store'], row: PaymentRow) {
  const { state, moved, payment } = row
  if (state === 'ended' || isEnded(row))
    return (moved ?? 0) > givenBack(store, payment) ? ('taken' as const) : ('returned' as const)
  // an earlier build noted so what went over at once
  if (state === 'held' && row.holdUntil === null) return 'taken' as const
  return state === 'ending' ? ('held' as const) : state
}

function paidView(store: Context['store'], row: PaymentRow) {
  const back = givenBack(store, row.payment)
  const state = paidState(store, row)
  const { moved, amount } = row
  const isOpen = !isEnded(row) && row.state !== 'refused'
  const isPart = moved !== null && moved > 0 && moved < amount
  return {
    state,
    ...termsView({ holdSeconds: row.holdUntil, starts: row.starts }, state),
    ...present({
      taken: isPart ? moved : undefined,
      given_back: back === 0 ? undefined : back,
      problem: row.problem ?? undefined,
      held_until: isOpen ? (row.holdUntil ?? undefined) : undefined,
    }),
  }
}

/** What may be lost of a payment that is not made, or whose work may not have begun. */
function termsView(
  { holdSeconds, starts }: { holdSeconds: number | null; starts: number | null },
  state: string,
): { unheld?: true; starts?: number } {
  if (state !== 'open' && state !== 'authorized' && state !== 'held') return {}
  return holdSeconds === null ? { unheld: true } : present({ starts: starts ?? undefined })
}

/** What a task costs, and what became of it; undefined where it has no price. */
export function paymentView(ctx: Pick<Context, 'store' | 'threads' | 'hubNow'>, interaction: Interaction) {
  const { store, threads } = ctx
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
    ...(paid === undefined ? openView(quote) : paidView(store, paid)),
    ...present({
      paid_as: paidAs === null ? undefined : threads.byKey(paidAs).id,
      reason: paid?.reason ?? reason ?? undefined,
    }),
    ...(quote.state === 'open' ? doubtView(ctx, quote) : {}),
  }
}

/** What a price waits for after a restore, and what a lost copy may have paid it with. */
function doubtView(ctx: Pick<Context, 'store' | 'threads' | 'hubNow'>, quote: QuoteRow) {
  const doubt = doubtOf(ctx, quote)
  if (doubt === undefined) return {}
  if (doubt.state === 'paid')
    return { lost_payments: doubt.payments.map(lostPaymentView), reason: sayDoubt(doubt) }
  // where a person decides anyway, nothing waits
  return quote.reason === null ? { waits_for: doubt.state, reason: sayDoubt(doubt) } : {}
}

const lostPaymentView = ({ state, transaction, amount, atMs, lostTask }: LostPayment) => ({
  state,
  ...present({ transaction, amount, at: atMs, lost_task: lostTask }),
})

const openView = ({ amount, starts, holdSeconds, says }: QuoteRow) => ({
  state: 'open' as const,
  ...termsView({ holdSeconds, starts: starts ?? amount }, 'open'),
  ...present({ says: says ?? undefined }),
})
