/** The one process of a hub keeps the contract of a leader, and the contract refuses forms that were made wrong. */
import { alone, apart, type Pair, portContract, refuses } from '../../testing/ports/contract.ts'
import { leaderRules } from '../../testing/ports/leader-rules.ts'
import type { Leader } from '../ports/leader.ts'
import { LeaderInProcess } from './leader.ts'

const make = (): Leader => new LeaderInProcess()

const but = (changed: (leader: Leader) => Partial<Leader>) => () => {
  const leader = make()
  return alone<Leader>({
    lead: (duty, work) => leader.lead(duty, work),
    stop: () => leader.stop(),
    ...changed(leader),
  })
}

/** Two processes, of which the first leads for as long as it does not stop; `forEver` also after that. */
function elected({ forEver }: { forEver: boolean }): Pair<Leader> {
  const [first, second] = [make(), make()]
  let leads = first
  const of = (leader: Leader): Leader => ({
    lead: async (duty, work) => (leads === leader ? await leader.lead(duty, work) : undefined),
    async stop() {
      await leader.stop()
      if (leads === first && !forEver) leads = second
    },
  })
  return { one: of(first), other: of(second), told: async () => undefined, end: async () => undefined }
}

portContract('the leader', leaderRules, () => alone(make()))
portContract('the leader of two processes', leaderRules, () => elected({ forEver: false }))

refuses<Leader>('the leader', leaderRules, [
  ['where each process leads', apart(make), 'does no two works of a duty at a time'],
  ['that has no heir', () => elected({ forEver: true }), 'has another process lead'],
  ['that does everything one after the other', but(oneDuty), 'lets no duty wait'],
  ['that stops in the midst of work', but(() => ({ stop: async () => undefined })), 'stops when the work'],
  ['that leads once', but(once), 'goes on to lead'],
])

function oneDuty(leader: Leader): Partial<Leader> {
  return { lead: (_, work) => leader.lead('sweep', work) }
}

function once(leader: Leader): Partial<Leader> {
  let asked = 0
  return {
    lead: async (duty, work) => (asked++ === 0 ? await leader.lead(duty, work) : undefined),
  }
}
