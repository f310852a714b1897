/** Operations on prices and payments, and what a reader of a task sees of its price. */

import { CREDITS_MAX } from '../../protocol/contract/limits.ts'
import { present } from '../../protocol/encoding/present.ts'
import { networkOf } from '../../protocol/proof/payment.ts'
import { TASK } from '../../protocol/proof/quote.ts'
import type { Context } from '../context.ts'
import { type SpendConfig, spendDefaults } from '../home/payment-config.ts'
import { refuse } from '../refusal.ts'
import { quoteOf, spentSince } from '../store/payments.ts'
import type { Interaction } from '../store/threads.ts'
import type { PaymentOperations } from './handlers.ts'

type Needs = Pick<Context, 'settings' | 'store' | 'hub' | 'hubNow' | 'modules'>

const DAY_MS = 86_400_000
const NO_SUPPORT = 'this build has no payment support'

export function paymentOperations(ctx: Needs, hasPayments: boolean): PaymentOperations {
  const list = () => {
    const home = ctx.hub.last
    const network = home === undefined ? undefined : networkOf(home.identity.aid)
    const prices = Object.entries(ctx.settings.current.prices ?? {})
    return { prices: prices.map(([capability, amount]) => ({ capability, amount, ...present({ network }) })) }
  }
  const requirePayments = () => {
    if (!hasPayments) refuse('no_credits', NO_SUPPORT, 'svc version')
  }
  return {
    async prices() {
      return list()
    },
    async priceSet({ capability, amount }) {
      requirePayments()
      const { [capability]: _, ...others } = ctx.settings.current.prices ?? {}
      if (amount > 0 && capability === TASK)
        refuse(
          'bad_request',
          'a price for tasks in words comes later; give a capability',
          'svc capability ls',
        )
      if (amount > 0 && !ctx.modules.serves(capability))
        refuse('bad_request', `this node does not serve ${capability}`, 'svc capability ls')
      ctx.settings.change({ prices: amount === 0 ? others : { ...others, [capability]: amount } })
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
  }
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

/** What a task of ours costs, and what became of it; undefined where it has no price. */
export function paymentView(ctx: Pick<Context, 'store' | 'threads'>, interaction: Interaction) {
  const quote = quoteOf(ctx.store, interaction.key)
  if (quote === undefined || quote.amount === null || quote.network === null) return undefined
  const paidAs = quote.paidAs === null ? undefined : ctx.threads.byKey(quote.paidAs).id
  return {
    amount: quote.amount,
    network: quote.network,
    state: quote.state === 'paid' ? ('paid' as const) : ('open' as const),
    ...present({ paid_as: paidAs, reason: quote.reason ?? undefined }),
  }
}
