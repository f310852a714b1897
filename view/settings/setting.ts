/** A row of the table of settings, and what both screens do with one. */
import type { OperationInput, OperationName, OperationReply } from '../../protocol/control/operations.ts'
import type { View } from '../state.ts'
import {
  type Facts,
  type Field,
  type FieldFault,
  faultOf,
  type Order,
  type Question,
  type Undo,
  type Values,
} from './field.ts'

export const groups = {
  answering: 'Who answers',
  people: 'Tasks and people',
  profile: 'How others find you',
  credits: 'Pay and get paid',
  hub: 'Hub',
  keeping: 'Keys and backup',
} as const
export type Group = keyof typeof groups

type Row<N extends OperationName> = {
  readonly id: string
  readonly group: Group
  readonly heading: string
  /** One plain sentence: what it changes. */
  readonly help: string
  /** In the order in which they are asked. */
  readonly fields: readonly Field[]
  /** The operation, and its input by what is filled in. */
  readonly calls: N
  readonly input: (values: Values, view: View) => OperationInput<N>
  /** What stands now, in a few words; undefined while the node has not said it. */
  readonly shows?: (view: View, now: number) => string | undefined
  /** The word that opens it, where that is another one than `yes`. */
  readonly opens?: (view: View) => string
  /** What one press sets, where there is but one other way: its form is not needed then. */
  readonly flips?: (view: View) => Values
  /** The word of the button that does it. */
  readonly yes: string
  /** Why it is not offered now. */
  readonly unless?: (view: View) => string | undefined
  /** What is wrong with fields that are each right. */
  readonly fault?: (values: Values, view: View) => FieldFault | undefined
  /** What is asked before; undefined where nothing has to be. */
  readonly asks?: (
    values: Values,
    view: View,
  ) => { readonly asks: string; readonly facts?: Facts } | undefined
  /** It cannot be taken back, and the question says so. */
  readonly isFinal?: true
  /** It takes a while: what is said meanwhile. */
  readonly waits?: string
  /** What is said afterwards. */
  readonly says: (reply: OperationReply<N>, values: Values) => string
  /** What sets it as it is now; asked before it is done. */
  readonly undo?: (values: Values, view: View) => Undo | undefined
  /** What tries the values and keeps nothing. */
  readonly tries?: Trial
}
type Trial = {
  readonly yes: string
  readonly order: (values: Values, view: View) => Order
  readonly says: (reply: object) => string
}

/** A row, whatever its operation; {@link orderOf} and {@link saidOf} have its input and its last word. */
export type Setting = Omit<Row<OperationName>, 'input' | 'says'> & {
  readonly input: (values: Values, view: View) => object
  readonly says: (reply: object, values: Values) => string
}

/** Checks a row against its operation. */
export const setting = <const N extends OperationName>(row: Row<N>): Setting => row as unknown as Setting

/** What calls an operation: the input is checked against it here. */
export const order = <const N extends OperationName>(name: N, input: OperationInput<N>): Order => ({
  name,
  input: input as object,
})

/** What is filled in first, with what the person chose already; undefined while the node has not said all of it. */
export function startOf({ fields }: Setting, view: View, chosen: Values = {}): Values | undefined {
  const values: Record<string, string> = {}
  for (const field of fields) {
    const now = chosen[field.name] ?? field.now(view)
    if (now === undefined) return undefined
    values[field.name] = now
  }
  return values
}

/** The fields that are asked, by what is filled in. */
export const fieldsOf = ({ fields }: Setting, values: Values): Field[] =>
  fields.filter(field => field.when === undefined || field.when(values))

/** What is wrong with what is filled in, by field; empty where the node may be asked. */
export function faultsIn(row: Setting, values: Values, view: View): ReadonlyMap<string, string> {
  const faults = new Map<string, string>()
  for (const field of fieldsOf(row, values)) {
    const says = faultOf(field, values, view)
    if (says !== undefined) faults.set(field.name, says)
  }
  const fault = faults.size === 0 ? row.fault?.(values, view) : undefined
  if (fault !== undefined) faults.set(fault.field, fault.says)
  return faults
}

export const orderOf = (row: Setting, values: Values, view: View): Order => ({
  name: row.calls,
  input: row.input(values, view),
})

const FINAL = ['then', 'this cannot be taken back'] as const
const UNDONE = ['undo', 'u sets it back as it was'] as const

/** What is asked before it is done, with what becomes of it; undefined where it is done at once. */
export function questionOf(row: Setting, values: Values, view: View): Question | undefined {
  const question = row.asks?.(values, view)
  if (question === undefined) return undefined
  const { asks, facts = [] } = question
  const end = row.isFinal === true ? [FINAL] : row.undo?.(values, view) === undefined ? [] : [UNDONE]
  return { asks, facts: [...facts, ...end], yes: row.yes }
}

/** The field that a refusal of the node is about: it begins with the name of the member. */
export function fieldOf(row: Setting, values: Values, says: string): Field | undefined {
  const [, member] = /^([a-z_]+)(?:\.[a-z0-9_.]+)?(?::| is missing)/.exec(says) ?? []
  return fieldsOf(row, values).find(field => (field.member ?? field.name) === member)
}
