/** What a setting asks of a person: fields, what is filled in, and what of that cannot be right. Values are text; a switch says `yes` or `no`. */
import type { OperationName } from '../../protocol/control/operations.ts'
import { type Bound, measured } from '../bounds.ts'
import type { View } from '../state.ts'

export type Values = Readonly<Record<string, string>>
export type Choice = { readonly value: string; readonly says: string }

type Base = {
  /** Of the value, and of the member of the input that it becomes where {@link Field.member} names no other. */
  readonly name: string
  readonly label: string
  /** One plain sentence. */
  readonly help: string
  /** The member of the operation that it fills, by which a refusal names it. */
  readonly member?: string
  /** What stands there first; undefined while the node has not said it. */
  readonly now: (view: View) => string | undefined
  /** Whether it is asked at all, by what is filled in before it. */
  readonly when?: (values: Values) => boolean
  readonly isNeeded?: true
}
export type Field = Base &
  (
    | {
        readonly kind: 'text' | 'long' | 'secret'
        readonly bound?: Bound
        readonly example?: string
        /** What is often meant; anything else may be written as well. */
        readonly offers?: (view: View) => readonly Choice[]
      }
    | { readonly kind: 'number'; readonly least: number; readonly most: number; readonly unit: string }
    | { readonly kind: 'choice'; readonly choices: (view: View) => readonly Choice[] }
    | { readonly kind: 'switch' }
  )

export type Facts = readonly (readonly [name: string, value: string])[]
/** What is asked before it is done; `yes` is the word of the button. */
export type Question = { readonly asks: string; readonly facts: Facts; readonly yes: string }
export type Order = { readonly name: OperationName; readonly input: object }
/** What sets it as it was, and what is said then. */
export type Undo = { readonly order: Order; readonly says: string }
export type FieldFault = { readonly field: string; readonly says: string }

export const isOn = (value: string | undefined): boolean => value === 'yes'
export const onOff = (on: boolean): string => (on ? 'yes' : 'no')
export const trimmed = (values: Values, name: string): string => (values[name] ?? '').trim()
/** A whole number that was typed; {@link faultOf} has seen to it that it is one. */
export const wholeOf = (values: Values, name: string): number => Number(trimmed(values, name))
/** Words between commas or spaces. */
export const wordsIn = (text: string): string[] => text.split(/[\s,]+/).filter(word => word !== '')

/** Why a value cannot be right, before the node is asked; undefined where nothing is wrong with it. */
export function faultOf(field: Field, values: Values, view: View): string | undefined {
  const value = trimmed(values, field.name)
  if (value === '') return field.isNeeded === true ? 'this is needed' : undefined
  switch (field.kind) {
    case 'number':
      return isWhole(value, field) ? undefined : `expected a whole number${rangeOf(field)}`
    case 'choice':
      return field.choices(view).some(one => one.value === value) ? undefined : 'expected one of the list'
    case 'switch':
      return value === 'yes' || value === 'no' ? undefined : 'expected yes or no'
    default: {
      const bound =
        field.bound && measured(field.kind === 'secret' ? (values[field.name] ?? '') : value, field.bound)
      return bound?.fault
    }
  }
}

const isWhole = (text: string, { least, most }: { least: number; most: number }): boolean =>
  /^[0-9]{1,16}$/.test(text) && Number(text) >= least && Number(text) <= most

/** The bounds of a number in words; a bound that nobody reaches is not said. */
export function rangeOf({ least, most }: { least: number; most: number }): string {
  if (most === Number.MAX_SAFE_INTEGER) return least === 0 ? '' : ` from ${least} on`
  return ` from ${least} to ${most}`
}
