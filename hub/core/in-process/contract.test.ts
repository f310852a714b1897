/** The memory of one process keeps the contracts of its ports, and the contracts refuse forms that were made wrong. */
import { describe, expect, test } from 'vitest'
import { alone, apart, brokenBy, type Make, portContract, type Rule } from '../../testing/ports/contract.ts'
import { ratesRules } from '../../testing/ports/rates-rules.ts'
import type { Rates } from '../ports/rates.ts'
import { ratesInProcess } from './rates.ts'

/** What is wrong with a form, and how the name of the rule that it breaks begins. */
function refuses<P>(
  rules: readonly Rule<P>[],
  wrong: readonly [what: string, make: Make<P>, breaks: string][],
) {
  test.each(wrong)('refuses a form %s', async (_, make, breaks) => {
    expect(await brokenBy(rules, make)).toMatch(new RegExp(`^${breaks}`))
  })
}

describe('rates', () => {
  portContract('rates', ratesRules, () => alone(ratesInProcess()))

  refuses<Rates>(ratesRules, [
    ['that each process counts for itself', apart(ratesInProcess), 'gives a burst at once'],
    ['whose refusals cost as much', () => alone(charging()), 'takes nothing where it gives nothing'],
    ['that has one bucket for all keys', () => alone(keyless()), 'counts each key'],
  ])
})

/** Asking in vain empties the bucket. */
function charging(): Rates {
  const rates = ratesInProcess()
  return {
    of(name, rate) {
      const buckets = rates.of(name, rate)
      return {
        async take(key, nowMs, count = 1) {
          const waitMs = await buckets.take(key, nowMs, count)
          if (waitMs > 0 && count > 1) while ((await buckets.take(key, nowMs)) === 0);
          return waitMs
        },
      }
    },
  }
}

function keyless(): Rates {
  const rates = ratesInProcess()
  return {
    of(name, rate) {
      const buckets = rates.of(name, rate)
      return { take: (_, nowMs, count) => buckets.take('', nowMs, count) }
    },
  }
}
