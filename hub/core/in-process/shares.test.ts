/** Shares of one process keep their contract, and the contract refuses forms that were made wrong. */
import { random } from '../../testing/hub.ts'
import { alone, apart, portContract, refuses } from '../../testing/ports/contract.ts'
import { sharesRules } from '../../testing/ports/shares-rules.ts'
import type { Shares } from '../ports/shares.ts'
import { sharesInProcess } from './shares.ts'

const make = () => sharesInProcess({ random, lastMs: 0, waitingIn: async () => 0 })

portContract('shares', sharesRules, () => alone(make()))

refuses<Shares>('shares', sharesRules, [
  ['that each process counts for itself', apart(make), 'counts what a sender has sent'],
  ['that judges first and counts later', () => alone(late()), 'judges and counts in one step'],
  [
    'that never hears that mail was collected',
    () => alone({ ...make(), noteGone: async () => undefined }),
    'counts what waits of a sender',
  ],
  ['that says who sends', () => alone(naming()), 'names a sender towards each mailbox apart'],
])

/** Between the judgement and the count another contact is judged. */
function late(): Shares {
  const held = make()
  return {
    ...held,
    async take(contact) {
      const { sender, nowMs, limits } = contact
      const left = await held.left(sender, limits.sentPerDay, nowMs)
      await new Promise(resolve => setImmediate(resolve))
      return await held.take(left === 0 ? contact : { ...contact, limits: { ...limits, sentPerDay: 1e9 } })
    },
  }
}

function naming(): Shares {
  const held = make()
  return {
    ...held,
    async take(contact) {
      const answer = await held.take(contact)
      const share = `${contact.sender} ${contact.mailbox}`
      return answer.outcome === 'taken' ? { outcome: 'taken', share } : answer
    },
  }
}
