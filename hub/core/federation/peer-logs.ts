/** Key histories of agents as peers show them. */
import { Malformed } from '../../../protocol/encoding/bytes.ts'
import { KelInvalid, type VerifiedKel } from '../../../protocol/identity/kel.ts'
import type { Agents } from '../agents.ts'
import { eventsOf, type KeyLogs } from '../membership/key-logs.ts'
import { Refusal } from '../refusal.ts'
import { Doubtful } from './doubtful.ts'
import type { Peer } from './peers.ts'

/** Refusals that say nothing of the bytes: the same may hold later. */
const OF_THE_MOMENT: readonly string[] = ['rateLimited', 'overloaded']

export class PeerLogs {
  readonly #agents: Agents
  readonly #keyLogs: KeyLogs

  constructor(agents: Agents, keyLogs: KeyLogs) {
    this.#agents = agents
    this.#keyLogs = keyLogs
  }

  /**
   * The longest valid one of an agent, shown or held here; checks of signatures are charged to the peer. `told`: what a
   * peer showed before, verified then.
   */
  async longest(
    aid: string,
    kel: Uint8Array,
    { aid: address }: Peer,
    told?: VerifiedKel,
  ): Promise<VerifiedKel> {
    const own = (await this.#agents.find(aid))?.log
    const held = own !== undefined && own.seq >= (told?.seq ?? 0) ? own : told
    try {
      return await this.#keyLogs.longest({ aid, events: eventsOf(aid, kel), address }, held)
    } catch (error) {
      if (error instanceof Refusal && OF_THE_MOMENT.includes(error.code)) throw error
      if (error instanceof Refusal || error instanceof Malformed || error instanceof KelInvalid)
        throw new Doubtful('key history of the agent', { cause: error })
      throw error
    }
  }
}
