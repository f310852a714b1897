/** Agents with open mail as peers are told of them. */
import type { ToldOpenCard } from '../../store/open-card-port.ts'
import type { Agents } from '../agents.ts'
import type { HubContext } from '../context.ts'

const PAGE_MAX = 200
const PAGE_BYTES_MAX = 2 * 1024 * 1024
/** Others have their turn in between. */
const LOOKED_MAX = 500

export class ToldCards {
  readonly #context: HubContext
  readonly #agents: Agents

  constructor(context: HubContext, agents: Agents) {
    this.#context = context
    this.#agents = agents
  }

  /** Cards after a number, and up to which number that is; none where there are no more. */
  async after(cursor: number): Promise<{ cursor: number; cards: ToldOpenCard[] }> {
    for (let after: number = cursor; ; ) {
      const query = { after, limit: PAGE_MAX, bytesMax: PAGE_BYTES_MAX, lookedMax: LOOKED_MAX }
      const { told, next } = await this.#context.store.toldOpenCards(query)
      const cards: ToldOpenCard[] = []
      // a card under a key that was rotated away is none, until its agent signs it anew
      for (const one of told)
        if ((await this.#agents.findRegistered(one.aid))?.log.seq === one.kelSeq) cards.push(one)
      after = next ?? told.at(-1)?.fedSeq ?? after
      if (cards.length > 0 || next === undefined) return { cursor: after, cards }
    }
  }
}
