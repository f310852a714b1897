/**
 * What a requester asks of an effect before it counts (node document §2.3): thresholds on metrics, the one domain that is
 * compared as numbers.
 */
import { Malformed } from '../encoding/bytes.ts'
import { CborFloat, type CborValue } from '../encoding/cbor.ts'
import { type Field, type Infer, list, mapped, oneOf, record, required, text } from '../encoding/record.ts'
import type { Effect } from './effect.ts'

const CLAUSES_MAX = 64

/** In the order of their numbers, from 1. */
export const comparisons = ['CmpLT', 'CmpLE', 'CmpEQ', 'CmpGE', 'CmpGT'] as const
export type Comparison = (typeof comparisons)[number]

const float: Field<number> = {
  read(value: CborValue, name: string) {
    if (!(value instanceof CborFloat)) throw new Malformed(`${name} is not a float`)
    return value.value
  },
  write: value => new CborFloat(value),
}

const comparison: Field<Comparison> = mapped(
  oneOf(1, 2, 3, 4, 5),
  (stored): Comparison => comparisons[stored - 1] as Comparison,
  name => (comparisons.indexOf(name) + 1) as 1 | 2 | 3 | 4 | 5,
)

/** One threshold on one metric. */
export const Clause = record('acceptance clause', {
  metric: required(1, text(4096)),
  op: required(2, comparison),
  value: required(3, float),
})
export type Clause = Infer<typeof Clause>

/** Thresholds that must all hold. */
export const Acceptance = record('acceptance', { clauses: required(1, list(Clause, CLAUSES_MAX, 1)) })
export type Acceptance = Infer<typeof Acceptance>

const HOLDS: Readonly<Record<Comparison, (measured: number, value: number) => boolean>> = {
  CmpLT: (measured, value) => measured < value,
  CmpLE: (measured, value) => measured <= value,
  CmpEQ: (measured, value) => measured === value,
  CmpGE: (measured, value) => measured >= value,
  CmpGT: (measured, value) => measured > value,
}

/** The clauses that an effect does not meet: all of them where it is not verifiable, for nothing else shows its metrics. */
export function unmet({ clauses }: Acceptance, { status, record: found }: Effect): Clause[] {
  const metrics = status === 'OK' ? (found?.metrics ?? {}) : {}
  return clauses.filter(({ metric, op, value }) => {
    const measured = Object.hasOwn(metrics, metric) ? metrics[metric] : undefined
    return measured === undefined || !HOLDS[op](measured, value)
  })
}
