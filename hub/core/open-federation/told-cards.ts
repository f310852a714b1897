/** Agents with open mail as peers are told of them. */
import type { ToldOpenCard } from '../../store/open-card-port.ts'
import type { Agents } from '../agents.ts'
import type { HubContext } from '../context.ts'

const PAGE_MAX = 200
const PAGE_BYTES_MAX = 2 * 1024 * 1024

export class ToldCards {
  readonly #context: HubContext
  readonly #agents: Agents

  constructor(context: HubContext, agents: Agents) {
    this.#context = context
    this.#agents = agents
  }

  /** Cards after a number, and up to which number that is; none where there are no more. */
  async after(cursor: number): Promise<{ cursor: number; cards: ToldOpenCard[] }> {
    for (let after = cursor; ; ) {
      const query = { after, limit: PAGE_MAX, bytesMax: PAGE_BYTES_MAX }
      const page = await this.#context.store.toldOpenCards(query)
      const cards: ToldOpenCard[] = []
      // a card under a key that was rotated away is none, until its agent signs it anew
      for (const one of page)
        if ((await this.#agents.findRegistered(one.aid))?.log.seq === one.kelSeq) cards.push(one)
      after = page.at(-1)?.fedSeq ?? after
      if (cards.length > 0 || page.length === 0) return { cursor: after, cards }
    }
  }
}
