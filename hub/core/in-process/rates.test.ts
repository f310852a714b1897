/** Rates of one process keep their contract, and the contract refuses forms that were made wrong. */
import { alone, apart, portContract, refuses } from '../../testing/ports/contract.ts'
import { ratesRules } from '../../testing/ports/rates-rules.ts'
import type { Rates } from '../ports/rates.ts'
import { ratesInProcess } from './rates.ts'

portContract('rates', ratesRules, () => alone(ratesInProcess()))

refuses<Rates>('rates', ratesRules, [
  ['that each process counts for itself', apart(ratesInProcess), 'gives a burst at once'],
  ['whose refusals cost as much', () => alone(charging()), 'takes nothing where it gives nothing'],
  ['that has one bucket for all keys', () => alone(keyless()), 'counts each key'],
])

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
