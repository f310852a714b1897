/** The hub that a payment has to be asked about: the one of its network, also where this node moved on to another. */
import { networkOf } from '../../protocol/proof/payment.ts'
import type { CurrentHub } from '../hubs/current.ts'
import type { HubClient, Settled } from '../hubs/hub.ts'
import type { Identity } from '../identity/identity.ts'

export type Accounts = {
  /** The hub of a network, told of every key event of ours; undefined where this identity has no account. */
  accountOf(network: string): Promise<HubClient | undefined>
}

/** Where nothing but the home is known. */
export const homeOnly = (hub: CurrentHub): Accounts => ({
  accountOf: async network =>
    hub.home !== undefined && networkOf(hub.home.identity.aid) === network ? hub.home : undefined,
})

/** Asks once more where the hub did not know the newest key of this node. */
export async function withNewestKey(
  identity: Identity,
  hub: Pick<HubClient, 'pushLog'>,
  ask: () => Promise<Settled>,
): Promise<Settled> {
  const answer = await ask()
  if ('receipt' in answer || answer.refused !== 'invalid_signature') return answer
  await hub.pushLog(identity.log)
  return await ask()
}
