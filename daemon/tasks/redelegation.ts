/** A task that its recipient lost with a restore is given to it once more, as a new task that is tied to the old one. */
import { cidText } from '../../protocol/crypto/hash.ts'
import type { Attachments } from '../attachments/attachments.ts'
import { type GivenTask, taskAsGiven } from '../payments/as-given.ts'
import { refuse } from '../refusal.ts'
import type { Store } from '../store/open.ts'
import { ownReason } from '../store/reasons.ts'
import type { Interaction, Threads } from '../store/threads.ts'
import type { TaskNews } from './news.ts'
import { isRequester } from './standing.ts'

/** Whether a task may be delegated anew: its recipient said that it no longer has it, and that was not done yet. */
export const mayRedelegate = (interaction: Interaction): boolean =>
  isRequester(interaction) && interaction.lostByPeerAt !== null && interaction.anewAs === null

type RedelegationParts = {
  store: Store
  threads: Threads
  attachments: Attachments
  commit: (task: GivenTask) => Interaction
  news: TaskNews
}

export class Redelegation {
  readonly #parts: RedelegationParts

  constructor(parts: RedelegationParts) {
    this.#parts = parts
  }

  /** The new task, which carries no payment; the same again is the same task. */
  redelegate(lost: Interaction): Interaction {
    const { store, threads, attachments, commit, news } = this.#parts
    return store.transaction(() => {
      const current = threads.byKey(lost.key)
      if (current.anewAs !== null) return threads.byKey(current.anewAs)
      if (!mayRedelegate(current))
        refuse(
          'wrong_state',
          isRequester(current)
            ? 'only a task that its recipient lost is delegated anew'
            : 'only who delegated a task delegates it anew',
          `svc thread ${lost.id}`,
        )
      const task = taskAsGiven(threads, current)
      const gone = task.attachments.find(({ cid }) => attachments.find(cidText(cid)) === undefined)
      if (gone !== undefined)
        refuse(
          'wrong_state',
          `its file ${gone.name} is not on this machine any more; delegate it with the file`,
        )
      const given = commit(task)
      const noted = threads.update(current, {
        anewAs: given.key,
        ...ownReason(`the other side was restored from a backup and lost it; it goes on as ${given.id}`),
      })
      news.heard(noted)
      return given
    }, 'node.anew')
  }
}
