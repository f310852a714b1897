/** A task that its recipient lost with a restore is given to it once more, as a new task that is tied to the old one. */
import { cidText } from '../../protocol/crypto/hash.ts'
import type { Context } from '../context.ts'
import { type GivenTask, taskAsGiven } from '../payments/as-given.ts'
import { refuse } from '../refusal.ts'
import { ownReason } from '../store/reasons.ts'
import type { Interaction } from '../store/threads.ts'
import { isRequester } from './standing.ts'

type Needs = Pick<Context, 'store' | 'threads' | 'attachments' | 'events'>

/** Whether a task may be delegated anew: its recipient said that it no longer has it, and that was not done yet. */
export const mayRedelegate = (interaction: Interaction): boolean =>
  isRequester(interaction) && interaction.lostByPeerAt !== null && interaction.anewAs === null

/** The new task, which carries no payment; the same again is the same task. */
export function redelegate(
  ctx: Needs,
  lost: Interaction,
  commit: (task: GivenTask) => Interaction,
): Interaction {
  return ctx.store.transaction(() => {
    const current = ctx.threads.byKey(lost.key)
    if (current.anewAs !== null) return ctx.threads.byKey(current.anewAs)
    if (!mayRedelegate(current))
      refuse(
        'wrong_state',
        isRequester(current)
          ? 'only a task that its recipient lost is delegated anew'
          : 'only who delegated a task delegates it anew',
        `svc thread ${lost.id}`,
      )
    const task = taskAsGiven(ctx.threads, current)
    const gone = task.attachments.find(({ cid }) => ctx.attachments.find(cidText(cid)) === undefined)
    if (gone !== undefined)
      refuse(
        'wrong_state',
        `its file ${gone.name} is not on this machine any more; delegate it with the file`,
      )
    const given = commit(task)
    ctx.threads.update(current, {
      anewAs: given.key,
      ...ownReason(`the other side was restored from a backup and lost it; it goes on as ${given.id}`),
    })
    const about = { interaction_id: current.id, peer: current.peer, state: current.state }
    ctx.store.afterCommit(() => ctx.events.emit('message', about))
    return given
  }, 'node.anew')
}
