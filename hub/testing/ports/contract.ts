/**
 * For tests: what every form of a port must do, rule by rule. A form shows its port as two processes of one hub see it;
 * where there is one process only, both are that one. Forms that were made wrong on purpose show that the rules are not
 * empty.
 */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'

export const NOW_MS = 1_800_000_000_000

/** One port in two processes. */
export type Pair<P> = {
  one: P
  other: P
  /** Waits for as long as the word of a process may take to the others. */
  told(): Promise<void>
  end(): Promise<void>
}
export type Make<P> = () => Pair<P> | Promise<Pair<P>>

/** One sentence of a contract; it throws where a form does otherwise. */
export type Rule<P> = readonly [name: string, holds: (pair: Pair<P>) => Promise<void>]

const AT_ONCE = { told: async () => undefined, end: async () => undefined }

/** A hub that is one process. */
export const alone = <P>(port: P): Pair<P> => ({ one: port, other: port, ...AT_ONCE })

/** A wrong form for nearly every port: two processes of which neither knows what the other does. */
export const apart =
  <P>(make: () => P): Make<P> =>
  () => ({ one: make(), other: make(), ...AT_ONCE })

/** Declares the rules of a port over a form of it. */
export function portContract<P>(form: string, rules: readonly Rule<P>[], make: Make<P>): void {
  describe(`contract of ${form}`, () => {
    let pair: Pair<P>
    beforeEach(async () => {
      pair = await make()
    })
    afterEach(() => pair.end())

    test.each(rules)('%s', (_name, holds) => holds(pair))
  })
}

/** The first of the rules that a form breaks; undefined where it keeps them all. */
async function brokenBy<P>(rules: readonly Rule<P>[], make: Make<P>): Promise<string | undefined> {
  for (const [name, holds] of rules) {
    const pair = await make()
    try {
      await holds(pair)
    } catch {
      return name
    } finally {
      await pair.end()
    }
  }
  return undefined
}

/** What is wrong with a form, the form, and how the name of the rule begins that it breaks. */
export type Wrong<P> = readonly [what: string, make: Make<P>, breaks: string]

/** Declares that the rules of a port refuse forms of it. */
export function refuses<P>(port: string, rules: readonly Rule<P>[], wrong: readonly Wrong<P>[]): void {
  test.each(wrong)(`the contract of ${port} refuses a form %s`, async (_, make, breaks) => {
    expect(await brokenBy(rules, make)).toMatch(new RegExp(`^${breaks}`))
  })
}
