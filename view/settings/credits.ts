/** Settings about credits: what goes without asking, and what work costs. */
import { CREDITS_MAX } from '../../protocol/contract/limits.ts'
import type { OperationReply } from '../../protocol/control/operations.ts'
import { present } from '../../protocol/encoding/present.ts'
import { sayCredits } from '../sentences.ts'
import type { View } from '../state.ts'
import { type Field, trimmed, type Values, wholeOf } from './field.ts'
import { order, type Setting, setting } from './setting.ts'

type Spend = OperationReply<'spendSet'>
type Price = OperationReply<'prices'>['prices'][number]

const limits = ['auto_max', 'agent_max', 'day_max', 'payee_day_max'] as const

const limit = (name: (typeof limits)[number], label: string, help: string): Field => ({
  name,
  label,
  help,
  kind: 'number',
  least: 0,
  most: CREDITS_MAX,
  unit: 'credits',
  now: ({ spend }) => spend && String(spend[name]),
  isNeeded: true,
})

const spendOf = (values: Values): Spend => ({
  auto_max: wholeOf(values, 'auto_max'),
  agent_max: wholeOf(values, 'agent_max'),
  day_max: wholeOf(values, 'day_max'),
  payee_day_max: wholeOf(values, 'payee_day_max'),
})

function saySpend({ auto_max: auto, agent_max: agent, day_max: day }: Spend): string {
  const most = Math.max(auto, agent)
  return most === 0
    ? 'nothing is paid without asking you'
    : `up to ${sayCredits(most)} go without asking you, ${day} a day`
}

/** What a price is for in words: the node asks it for every task, or for the calls of one capability. */
export const TASK_PRICE = 'task'

export const sayPriced = (capability: string): string =>
  capability === TASK_PRICE ? 'a task in words' : capability

const priceOf = ({ prices }: View, capability: string): Price | undefined =>
  prices?.prices.find(one => one.capability === capability)

export const credits: readonly Setting[] = [
  setting({
    id: 'spend',
    group: 'credits',
    heading: 'Spend without asking me',
    help: 'Payments within these limits need no yes of yours; 0 asks you each time.',
    fields: [
      limit('auto_max', 'One payment of the node', 'The node pays up to this when a price comes back.'),
      limit('agent_max', 'One payment of an agent', 'A coding agent that works for you pays up to this.'),
      limit('day_max', 'All payments of a day', 'Counted by UTC days; at least as much as one payment.'),
      limit('payee_day_max', 'To one agent a day', 'Of those of a day; at least as much as one payment.'),
    ],
    calls: 'spendSet',
    input: spendOf,
    shows: ({ spend }) => spend && saySpend(spend),
    opens: () => 'Change',
    yes: 'Keep these limits',
    fault(values) {
      const { auto_max, agent_max, day_max, payee_day_max } = spendOf(values)
      const most = Math.max(auto_max, agent_max)
      if (most === 0) return undefined
      const says = `so much for one payment needs at least ${most} here`
      if (day_max < most) return { field: 'day_max', says }
      return payee_day_max < most ? { field: 'payee_day_max', says } : undefined
    },
    asks: (values, { spend }) => {
      const next = spendOf(values)
      const isMore = spend === undefined || limits.some(name => next[name] > spend[name])
      return isMore && Math.max(next.auto_max, next.agent_max) > 0
        ? {
            asks: `Let up to ${sayCredits(next.day_max)} a day go without asking you?`,
            facts: [
              ['at once', `${sayCredits(next.auto_max)} by the node, ${next.agent_max} by an agent`],
              ['one agent', `at most ${sayCredits(next.payee_day_max)} a day`],
            ],
          }
        : undefined
    },
    says: saySpend,
    undo: (_, { spend }) => {
      if (spend === undefined) return undefined
      const { spent_today: _today, ...before } = spend
      return { order: order('spendSet', before), says: saySpend(before) }
    },
  }),
  setting({
    id: 'price',
    group: 'credits',
    heading: 'Ask a price',
    help: 'Whoever hands you this work sees the price first, and pays it before it is done.',
    fields: [
      {
        name: 'capability',
        label: 'What for',
        help: 'A task in words, or calls of a capability that this node serves.',
        kind: 'choice',
        choices: ({ capabilities }) => [
          { value: TASK_PRICE, says: 'a task in words' },
          ...(capabilities?.capabilities ?? []).map(({ capability }) => ({
            value: capability,
            says: `calls of ${capability}`,
          })),
        ],
        now: ({ capabilities }) => capabilities && TASK_PRICE,
        isNeeded: true,
      },
      {
        name: 'amount',
        label: 'Price',
        help: '0 takes the price away.',
        kind: 'number',
        least: 0,
        most: CREDITS_MAX,
        unit: 'credits',
        now: view => view.prices && String(priceOf(view, TASK_PRICE)?.amount ?? 0),
        isNeeded: true,
      },
      {
        name: 'starts',
        label: 'Kept when it is withdrawn',
        help: 'So much is yours once you have begun; empty keeps the whole price.',
        kind: 'number',
        least: 0,
        most: CREDITS_MAX,
        unit: 'credits',
        now: () => '',
      },
    ],
    calls: 'priceSet',
    input: values => ({
      capability: trimmed(values, 'capability'),
      amount: wholeOf(values, 'amount'),
      ...present({ starts: trimmed(values, 'starts') === '' ? undefined : wholeOf(values, 'starts') }),
    }),
    shows: ({ prices }) =>
      prices &&
      (prices.prices.length === 0
        ? 'your work costs nothing'
        : prices.prices
            .map(({ capability, amount }) => `${sayPriced(capability)}: ${sayCredits(amount)}`)
            .join(' · ')),
    opens: () => 'Set a price',
    yes: 'Keep this price',
    fault: values =>
      trimmed(values, 'starts') !== '' && wholeOf(values, 'starts') > wholeOf(values, 'amount')
        ? { field: 'starts', says: 'a withdrawal cannot cost more than the work' }
        : undefined,
    says: ({ prices }, values) => {
      const capability = trimmed(values, 'capability')
      const price = prices.find(one => one.capability === capability)
      return price === undefined
        ? `${sayPriced(capability)} costs nothing`
        : `${sayPriced(capability)} costs ${sayCredits(price.amount)}`
    },
    undo(values, view) {
      const capability = trimmed(values, 'capability')
      if (view.prices === undefined) return undefined
      const before = priceOf(view, capability)
      const input =
        before === undefined
          ? { capability, amount: 0 }
          : { capability, amount: before.amount, starts: before.starts }
      const cost = before === undefined ? 'nothing' : sayCredits(before.amount)
      return { order: order('priceSet', input), says: `${sayPriced(capability)} costs ${cost} again` }
    },
  }),
]
