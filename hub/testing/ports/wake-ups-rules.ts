/** The contract of word between processes. */
import { expect } from 'vitest'
import type { WakeUps } from '../../core/ports/wake-ups.ts'
import type { Rule } from './contract.ts'

/** What is heard in a process, as text. */
function heardBy(wakeUps: WakeUps): { heard: string[]; stop: () => void } {
  const heard: string[] = []
  return { heard, stop: wakeUps.listen((mailbox, what) => void heard.push(`${mailbox} ${what}`)) }
}

export const wakeUpsRules: readonly Rule<WakeUps>[] = [
  [
    'tells who listens in the same process before it returns',
    async pair => {
      const { heard } = heardBy(pair.one)
      pair.one.tell(7, 'mail')
      pair.one.tell(8, 'ended')
      expect(heard).toEqual(['7 mail', '8 ended'])
    },
  ],
  [
    'tells the other processes, or has who waits look by itself',
    async pair => {
      const { heard } = heardBy(pair.other)
      pair.one.tell(7, 'mail')
      await pair.told()
      const mayBeLost = pair.other.lookEveryMs !== undefined
      expect(heard).toEqual(mayBeLost && heard.length === 0 ? [] : ['7 mail'])
      expect(pair.other.lookEveryMs ?? 1).toBeGreaterThan(0)
    },
  ],
  [
    'tells nobody twice, not even who told',
    async pair => {
      const [one, other] = [heardBy(pair.one), heardBy(pair.other)]
      pair.one.tell(7, 'ended')
      await pair.told()
      expect(one.heard).toEqual(['7 ended'])
      expect(other.heard.length).toBeLessThanOrEqual(1)
    },
  ],
  [
    'tells each who listens, and nothing to who has stopped',
    async pair => {
      const [first, second] = [heardBy(pair.one), heardBy(pair.one)]
      first.stop()
      pair.one.tell(7, 'mail')
      await pair.told()
      expect([first.heard, second.heard]).toEqual([[], ['7 mail']])
    },
  ],
]
