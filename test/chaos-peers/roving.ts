/** A node moves to another hub, and takes credits along from the one that it left. */
import { Asked } from '../chaos/processes.ts'
import { wasPutBack } from '../matrix/peers/side.ts'
import { type HubName, type PeersChaos, ROVER } from './world.ts'

const AMOUNT = 25

/** What went wrong, in a sentence. */
export async function rove(world: PeersChaos, to: HubName): Promise<string | undefined> {
  const left = world.homeOf(ROVER)
  const startedMs = Date.now()
  try {
    await world.register(ROVER, to)
    const { url } = world.hub(left)
    const { verified } = await world.ask(ROVER, 'POST', '/move-credits', { amount: AMOUNT, hub: url })
    return verified === true ? undefined : `no receipt proves what ${ROVER} took along from ${left}`
  } catch (error) {
    if (!(error instanceof Asked)) throw error
    const isExplained = [left, to].some(name => wasPutBack(world.hub(name), startedMs))
    return isExplained ? undefined : `${ROVER} could not move from ${left} to ${to}: ${error.message}`
  }
}
