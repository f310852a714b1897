/** Word in one process keeps its contract, and the contract refuses forms that were made wrong. */
import { setImmediate } from 'node:timers/promises'
import { alone, apart, type Pair, portContract, refuses } from '../../testing/ports/contract.ts'
import { wakeUpsRules } from '../../testing/ports/wake-ups-rules.ts'
import type { WakeUps } from '../ports/wake-ups.ts'
import { wakeUpsInProcess } from './wake-ups.ts'

/** Two processes, of which each hears the other's word later; `echoes` also its own again. */
function linked({ echoes, isLate = false }: { echoes: boolean; isLate?: boolean }): Pair<WakeUps> {
  const [one, other] = [wakeUpsInProcess(), wakeUpsInProcess()]
  const telling = (here: WakeUps, there: WakeUps): WakeUps => ({
    ...here,
    tell(mailbox, what) {
      if (!isLate) here.tell(mailbox, what)
      queueMicrotask(() => {
        there.tell(mailbox, what)
        if (echoes || isLate) here.tell(mailbox, what)
      })
    },
  })
  const told = () => setImmediate()
  return { one: telling(one, other), other: telling(other, one), told, end: async () => undefined }
}

portContract('wake-ups', wakeUpsRules, () => alone(wakeUpsInProcess()))
portContract('wake-ups of two linked processes', wakeUpsRules, () => linked({ echoes: false }))

refuses<WakeUps>('wake-ups', wakeUpsRules, [
  ['that no other process hears, and nobody looks', apart(wakeUpsInProcess), 'tells the other processes'],
  ['that says it again to who told', () => linked({ echoes: true }), 'tells nobody twice'],
  [
    'that tells its own process last',
    () => linked({ echoes: false, isLate: true }),
    'tells who listens in the same process',
  ],
  [
    'that nobody can leave',
    () => {
      const held = wakeUpsInProcess()
      const listen: WakeUps['listen'] = hear => {
        held.listen(hear)
        return () => undefined
      }
      return alone({ ...held, listen })
    },
    'tells each who listens',
  ],
])
