/** Two agents of one hub, who need no other one: whatever a peer does, their mail and credits go through at once. */
import type { TestAgent } from '../../../hub/testing/hub.ts'
import { sealedUnderCapability, sendEnvelope } from '../../../hub/testing/mail.ts'
import { ask, payment } from '../../../hub/testing/payments.ts'
import type { Correspondents } from './letters.ts'

/** Alice writes to bob and pays him one credit; every fault as a sentence. No time passes meanwhile. */
export async function faultsOfNeighbours(
  { alice, bob, capability }: Correspondents,
  had: Map<TestAgent, number>,
): Promise<string[]> {
  const { target } = alice
  const [sent, paid] = await Promise.all([
    sendEnvelope(target, sealedUnderCapability(bob, capability)),
    ask(target, 'x402Settle', payment(alice, bob, 1).request),
  ])
  if (paid.json['success'] === true)
    for (const [agent, delta] of [
      [alice, -1],
      [bob, 1],
    ] as const)
      had.set(agent, (had.get(agent) ?? 0) + delta)
  return [
    ...(sent.status === 200 ? [] : [`a letter between neighbours was refused: ${sent.json['reason']}`]),
    ...(paid.json['success'] === true ? [] : [`neighbours could not pay: ${JSON.stringify(paid.json)}`]),
  ]
}
