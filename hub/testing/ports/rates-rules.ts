/** The contract of rates: what all processes of a hub together give a key. */
import { expect } from 'vitest'
import type { Buckets, Rates } from '../../core/ports/rates.ts'
import type { Pair, Rule } from './contract.ts'

const RATE = { perSecond: 10, burst: 4 }

const both = ({ one, other }: Pair<Rates>): [Buckets, Buckets] => [
  one.of('requests', RATE),
  other.of('requests', RATE),
]

/** How many of these, asked for in turn by one process and the other, are given. */
async function given(pair: [Buckets, Buckets], times: readonly number[], key = 'a'): Promise<number> {
  let count = 0
  for (const [at, nowMs] of times.entries())
    if ((await pair[at % 2 === 0 ? 0 : 1].take(key, nowMs)) === 0) count += 1
  return count
}

const nine = (nowMs: number): number[] => Array(9).fill(nowMs)

export const ratesRules: readonly Rule<Rates>[] = [
  [
    'gives a burst at once and no more, wherever one asks',
    async pair => {
      expect(await given(both(pair), nine(0))).toBe(RATE.burst)
    },
  ],
  [
    'fills again at its rate, up to the burst',
    async pair => {
      const buckets = both(pair)
      await given(buckets, nine(0))
      expect(await given(buckets, nine(200))).toBe(2)
      expect(await given(buckets, nine(60_000))).toBe(RATE.burst)
    },
  ],
  [
    'tells how long to wait, and then gives',
    async pair => {
      const buckets = both(pair)
      await given(buckets, nine(0))
      const waits = await Promise.all(buckets.map(one => one.take('a', 0)))
      for (const waitMs of waits) expect(waitMs).toBeGreaterThan(0)
      expect(await given(buckets, [Math.max(...waits)])).toBe(1)
    },
  ],
  [
    'takes nothing where it gives nothing',
    async pair => {
      const buckets = both(pair)
      expect(await buckets[0].take('a', 0, RATE.burst + 1)).toBeGreaterThan(0)
      expect(await given(buckets, nine(0))).toBe(RATE.burst)
    },
  ],
  [
    'counts as empty and no worse once the clock was set back',
    async pair => {
      const buckets = both(pair)
      await given(buckets, nine(60_000))
      expect(await given(buckets, nine(1000))).toBe(0)
      expect(await given(buckets, nine(1200))).toBe(2)
    },
  ],
  [
    'counts each key and each name for itself',
    async pair => {
      const buckets = both(pair)
      await given(buckets, nine(0))
      expect(await given(buckets, nine(0), 'b')).toBe(RATE.burst)
      expect(await pair.one.of('refusals', RATE).take('a', 0)).toBe(0)
    },
  ],
]
