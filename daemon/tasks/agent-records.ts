/** What a program may do by the word of its owner stands in the chain; an old copy writes nothing there. */
import type { Chain } from '../chain/chain.ts'
import type { CurrentHub } from '../hubs/current.ts'

export class AgentRecords {
  readonly #chain: Chain
  readonly #hub: CurrentHub

  constructor(chain: Chain, hub: CurrentHub) {
    this.#chain = chain
    this.#hub = hub
  }

  append(
    type: 'svc.autoreply.unsafe' | 'svc.autoreply.tools',
    payload: Parameters<Chain['append']>[1],
  ): void {
    if (this.#hub.oldCopy === undefined) this.#chain.append(type, payload)
  }
}
