/** Operations on what this node asks for its work, and on what it may spend by itself. */
import { CREDITS_MAX } from '../../protocol/contract/limits.ts'
import { present } from '../../protocol/encoding/present.ts'
import { networkOf } from '../../protocol/proof/payment.ts'
import { TASK } from '../../protocol/proof/quote.ts'
import { type SpendConfig, spendDefaults } from '../home/payment-config.ts'
import type { Settings } from '../home/settings.ts'
import type { CurrentHub } from '../hubs/current.ts'
import type { Modules } from '../modules/modules.ts'
import { refuse } from '../refusal.ts'
import type { PaymentOperations } from './handlers.ts'

export type Priced = Pick<Modules, 'list' | 'priceOf' | 'startsOf'>

type PriceParts = {
  settings: Settings
  hub: CurrentHub
  modules: Priced
  /** The card at the hub names other prices now. */
  changed: () => void
  /** Refuses in a build without payments. */
  requirePayments: () => unknown
}

export function priceOperations({
  settings,
  hub,
  modules,
  changed,
  requirePayments,
}: PriceParts): Pick<PaymentOperations, 'prices' | 'priceSet'> {
  return {
    prices: async () => priceList(hub, modules),
    async priceSet(given) {
      requirePayments()
      setPrice(settings, modules, given)
      changed()
      return priceList(hub, modules)
    },
  }
}

type SpendParts = {
  settings: Settings
  /** Credits that were spent on this day so far. */
  spentToday: () => number
  requirePayments: () => unknown
}

export function spendOperations({
  settings,
  spentToday,
  requirePayments,
}: SpendParts): Pick<PaymentOperations, 'spend' | 'spendSet'> {
  const limits = (): SpendConfig => settings.current.spend ?? spendDefaults
  return {
    async spend() {
      return { ...limits(), spent_today: spentToday() }
    },
    async spendSet(given) {
      requirePayments()
      const next = { ...limits(), ...given } as SpendConfig
      requireSense(next)
      settings.change({ spend: next })
      return next
    },
  }
}

type PriceGiven = { capability: string; amount: number; starts?: number | undefined }

/** Keeps what a capability costs; the card names it. */
function setPrice(settings: Settings, modules: Priced, { capability, amount, starts }: PriceGiven): void {
  const served = modules.list().find(one => one.capability === capability)
  if (served === undefined && capability !== TASK)
    refuse('bad_request', `this node does not serve ${capability}`, 'svc capability ls')
  if (amount === 0 && modules.priceOf(capability) === undefined)
    refuse('bad_request', `${capability} has no price`, 'svc price ls')
  settings.change(pricesWith(settings, { capability, amount, starts }))
}

/** The price of a capability and of its withdrawal; what was said of that before goes with the earlier price. */
function pricesWith(
  settings: Settings,
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

function priceList(hub: CurrentHub, modules: Priced) {
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
