/** The contract of work that is done once, by whichever process leads. */
import { setImmediate, setTimeout } from 'node:timers/promises'
import { expect } from 'vitest'
import type { Leader, Turn } from '../../core/ports/leader.ts'
import type { Pair, Rule } from './contract.ts'

/** So long nothing here takes. */
const LATE_MS = 500

/** Work that notes how much of it runs at a time. */
function counted() {
  const seen = { running: 0, most: 0, done: 0 }
  const work = async (): Promise<string> => {
    seen.running += 1
    seen.most = Math.max(seen.most, seen.running)
    for (let step = 0; step < 3; step++) await setImmediate()
    seen.running -= 1
    seen.done += 1
    return 'done'
  }
  return { seen, work }
}

/** The process that leads, which is either. */
async function leaderOf({ one, other }: Pair<Leader>): Promise<[Leader, Leader]> {
  return (await one.lead('sweep', async () => true)) === true ? [one, other] : [other, one]
}

export const leaderRules: readonly Rule<Leader>[] = [
  [
    'does no two works of a duty at a time, and tells who does not lead',
    async pair => {
      const { seen, work } = counted()
      const asked = Array.from({ length: 6 }, (_, at) => (at % 2 ? pair.one : pair.other).lead('sweep', work))
      const answers = await Promise.all(asked)
      expect([seen.most, answers.filter(one => one === 'done').length]).toEqual([1, seen.done])
      expect(seen.done).toBeGreaterThan(0)
    },
  ],
  [
    'goes on to lead: the next work is done as well',
    async pair => {
      const [leads] = await leaderOf(pair)
      const { work } = counted()
      expect([await leads.lead('sweep', work), await leads.lead('sweep', work)]).toEqual(['done', 'done'])
    },
  ],
  [
    'lets no duty wait for another',
    async pair => {
      const swept = Promise.withResolvers<void>()
      const both = (duty: 'sweep' | 'books', work: () => Promise<void>) =>
        Promise.all([pair.one.lead(duty, work), pair.other.lead(duty, work)])
      const sweeping = both('sweep', () => swept.promise)
      const books = both('books', async () => swept.resolve())
      const late = setTimeout(LATE_MS, 'late')
      expect(await Promise.race([books.then(() => 'in time'), late])).toBe('in time')
      await sweeping
    },
  ],
  [
    'tells a fault to who gave the work, and leaves the duty free',
    async pair => {
      const [leads] = await leaderOf(pair)
      await expect(leads.lead('sweep', () => Promise.reject(new Error('no room')))).rejects.toThrow('no room')
      expect(await leads.lead('sweep', counted().work)).toBe('done')
    },
  ],
  [
    'stops when the work under way has ended, which is told, and does no more',
    async pair => {
      const [leads] = await leaderOf(pair)
      const before: boolean[] = []
      let given: Turn | undefined
      const under = leads.lead('sweep', async turn => {
        given = turn
        before.push(turn.isOver)
        const endMs = performance.now() + 2 * LATE_MS
        while (!turn.isOver && performance.now() < endMs) await setImmediate()
        return 'ended'
      })
      while (given === undefined) await setImmediate()
      await leads.stop()
      expect(await Promise.race([under, setTimeout(LATE_MS, 'still running')])).toBe('ended')
      const { seen, work } = counted()
      expect([before, await leads.lead('sweep', work), seen.done]).toEqual([[false], undefined, 0])
    },
  ],
  [
    'has another process lead when one has stopped',
    async pair => {
      const [leads, waits] = await leaderOf(pair)
      await leads.stop()
      await pair.told()
      const isAlone = leads === waits
      expect(await waits.lead('sweep', counted().work)).toBe(isAlone ? undefined : 'done')
    },
  ],
]
