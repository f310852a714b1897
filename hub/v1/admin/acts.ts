/** What was ordered through the operator's surface: from which address, what, about whom. The newest are kept. */
import type { HubContext } from '../../core/context.ts'

const ACTS_MAX = 10_000

export class Acts {
  readonly #context: Pick<HubContext, 'store' | 'now'>

  constructor(context: Pick<HubContext, 'store' | 'now'>) {
    this.#context = context
  }

  /** Writes down what was done. */
  async note(address: string, action: string, subject: string, detail = ''): Promise<void> {
    const { store, now } = this.#context
    await store.noteAct({ atMs: now(), who: address, action, subject, detail, max: ACTS_MAX })
  }
}
