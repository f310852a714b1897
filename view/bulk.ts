/** What can be done with several tasks at once: which of them it fits, what is asked once for all, and what became of each. */
import type { InteractionSummary } from '../protocol/control/shapes.ts'
import { present } from '../protocol/encoding/present.ts'
import { allows } from './allowed.ts'
import { approvalOf } from './approvals.ts'
import { cleanLine } from './clean.ts'
import { NodeGone } from './node-client.ts'
import { peerName, sayCredits } from './sentences.ts'
import type { Order, Question } from './settings/field.ts'
import { order } from './settings/setting.ts'
import type { View } from './state.ts'

export const bulkNames = ['approve', 'decline', 'archive', 'unarchive'] as const
export type BulkName = (typeof bulkNames)[number]
export type Bulk = {
  readonly name: BulkName
  readonly label: string
  readonly items: readonly InteractionSummary[]
}
/** `isUnknown`: the node did not answer, so that it may have been done. */
export type BulkResult = {
  readonly item: InteractionSummary
  readonly fault?: string
  readonly isUnknown?: true
}

type Way = {
  readonly label: string
  readonly fits: (view: View, item: InteractionSummary) => boolean
  readonly order: (view: View, item: InteractionSummary, reason: string) => Order
  readonly asks: (many: string) => string
  readonly means: string
  readonly done: string
  /** Whether it was done with a task, as the node has it now. */
  readonly isDone: (item: InteractionSummary) => boolean
  /** The other way round, for those with which it was done. */
  readonly undo?: BulkName
}

const idOf = ({ interaction_id }: InteractionSummary) => ({ interaction_id })

/** What nothing can be got back of, or may have been paid before, is looked at alone. */
const isPlain = (view: View, item: InteractionSummary): boolean => {
  const asked = approvalOf(view, item)?.order
  return asked !== undefined && asked.unheld === undefined && asked.again === undefined
}

const waits = ({ side, state, payment }: InteractionSummary): boolean =>
  (side === 'received' && state === 'pending') || payment?.state === 'open'

const UNTAKEN: readonly string[] = ['pending', 'declined', 'cancelled', 'expired', 'failed']
const UNPAID: readonly string[] = ['open', 'refused']

const ways: Readonly<Record<BulkName, Way>> = {
  approve: {
    label: 'Approve',
    fits: isPlain,
    order: (_, item) => order('approve', idOf(item)),
    asks: many => `Approve ${many}?`,
    means: 'tasks of strangers are taken, and prices are paid',
    done: 'approved',
    isDone: ({ side, state, payment }) =>
      side === 'received' ? !UNTAKEN.includes(state) : !UNPAID.includes(payment?.state ?? 'open'),
  },
  decline: {
    label: 'Decline',
    fits: (view, item) => item.side === 'received' && allows(view, item, 'decline'),
    order: (_, item, reason) =>
      order('decline', { ...idOf(item), ...present({ reason: reason || undefined }) }),
    asks: many => `Decline ${many}?`,
    means: 'they are told that it is declined; this cannot be taken back',
    done: 'declined',
    isDone: ({ state }) => state === 'declined',
  },
  archive: {
    label: 'Archive',
    fits: (_, item) => item.archived !== true && !waits(item),
    order: (_, item) => order('archive', { ...idOf(item), on: true }),
    asks: many => `Archive ${many}?`,
    means: 'they leave the list; whatever happens in one brings it back, and u puts all of them back',
    done: 'archived',
    isDone: ({ archived }) => archived === true,
    undo: 'unarchive',
  },
  unarchive: {
    label: 'Put back',
    fits: (_, item) => item.archived === true,
    order: (_, item) => order('archive', { ...idOf(item), on: false }),
    asks: many => `Put ${many} back into the list?`,
    means: 'they stand in the list again',
    done: 'back in the list',
    isDone: ({ archived }) => archived !== true,
    undo: 'archive',
  },
}

const many = (n: number): string => (n === 1 ? '1 task' : `${n} tasks`)

/** What can be done with some of these tasks, each with those that it fits. */
export function bulksOf(view: View, ids: Iterable<string>): Bulk[] {
  const items = [...ids].flatMap(id => view.interactions.get(id) ?? [])
  return bulkNames.flatMap(name => {
    const { label, fits } = ways[name]
    const fitting = items.filter(item => fits(view, item))
    return fitting.length === 0 ? [] : { name, label, items: fitting }
  })
}

/** The question once for all: every task by its person and words, with what it costs. */
export function bulkQuestion({ name, items }: Bulk): Question & { readonly canHaveReason: boolean } {
  const { asks, means, label } = ways[name]
  const prices = items.flatMap(({ payment }) => (name === 'approve' && payment ? payment.amount : []))
  const sum = prices.reduce((all, one) => all + one, 0)
  return {
    asks: asks(many(items.length)),
    facts: [
      ...items.map(item => [peerName(item), sayItem(name, item)] as const),
      ...(prices.length === 0 ? [] : [['price', `${sayCredits(sum)} in all`] as const]),
      ['then', means],
    ],
    yes: `${label} ${items.length}`,
    canHaveReason: name === 'decline',
  }
}

function sayItem(name: BulkName, { payment, preview, capability }: InteractionSummary): string {
  const words = cleanLine(preview, 120) || cleanLine(capability ?? '')
  return name === 'approve' && payment?.state === 'open' ? `${sayCredits(payment.amount)}: ${words}` : words
}

/** Does it task by task; one that fails holds up none of the others. */
export async function runBulk(
  { name, items }: Bulk,
  { view, act, reason = '' }: { view: View; act: (order: Order) => Promise<unknown>; reason?: string },
): Promise<BulkResult[]> {
  const results: BulkResult[] = []
  for (const item of items) {
    try {
      await act(ways[name].order(view, item, reason))
      results.push({ item })
    } catch (error) {
      const fault = error instanceof Error ? cleanLine(error.message, 200) : 'it failed'
      results.push({ item, fault, ...present({ isUnknown: error instanceof NodeGone || undefined }) })
    }
  }
  return results
}

/** What became of them: how many, and each that failed with its reason. */
export function sayBulk(name: BulkName, results: readonly BulkResult[]): string {
  const { done, failed, unknown } = sorted(results)
  const faults = failed.map(({ item, fault }) => `${peerName(item)}: ${fault}`).join('; ')
  return [
    `${many(done.length)} ${ways[name].done}`,
    ...(failed.length === 0 ? [] : [`${many(failed.length)} not: ${faults}`]),
    ...(unknown.length === 0 ? [] : [`${many(unknown.length)} not known yet: ${NOT_KNOWN}`]),
  ].join('; ')
}

const NOT_KNOWN = 'the node did not answer, and is asked once it does'

/** Results by what is known of them. */
export function sorted(results: readonly BulkResult[]): Record<'done' | 'failed' | 'unknown', BulkResult[]> {
  const of = (what: boolean, unknown: boolean) =>
    results.filter(
      ({ fault, isUnknown }) => (fault === undefined) === what && (isUnknown === true) === unknown,
    )
  return { done: of(true, false), failed: of(false, false), unknown: of(false, true) }
}

/** Whether it was done with a task, as the node has it now. */
export const isDoneWith = (name: BulkName, item: InteractionSummary): boolean => ways[name].isDone(item)

/** What takes it back, with those with which it was done. */
export function undoBulk(name: BulkName, results: readonly BulkResult[]): Bulk | undefined {
  const { undo } = ways[name]
  const items = results.flatMap(({ item, fault }) => (fault === undefined ? item : []))
  return undo === undefined || items.length === 0 ? undefined : { name: undo, label: ways[undo].label, items }
}
