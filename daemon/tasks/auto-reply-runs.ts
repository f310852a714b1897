/** The last runs of the auto-reply, also those of an earlier start: how long each took, and what it cost where the backend says so. */
import type { Run, WaitingThread } from '../../autoreply/answering.ts'
import { plainLine } from '../../protocol/encoding/plain-text.ts'
import { present } from '../../protocol/encoding/present.ts'
import { autoReplies, autoReplyRuns, keepAutoReply, keepAutoReplyRuns } from '../store/auto-replies.ts'
import type { Store } from '../store/open.ts'

export const RUNS_KEPT_MAX = 200
const COST_CHARACTERS_MAX = 80

export type AutoReplyRun = {
  interaction_id: string
  at: number
  event: 'answered' | 'failed'
  ms: number
  cost?: string
}

export class AutoReplyRuns {
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  /** The newest first. */
  get list(): AutoReplyRun[] {
    return autoReplies(this.#store).map(({ interactionId: interaction_id, at, event, ms, cost }) => ({
      interaction_id,
      at,
      event,
      ms,
      ...present({ cost: cost ?? undefined }),
    }))
  }

  /** Keeps what the loop reports of a run; what else it reports is none. */
  note(
    event: string,
    { interactionId }: Pick<WaitingThread, 'interactionId'>,
    at: number,
    detail: Record<string, unknown>,
  ) {
    if (event !== 'answered' && event !== 'failed') return
    const cost = typeof detail['cost'] === 'string' ? plainLine(detail['cost'], COST_CHARACTERS_MAX) : null
    const reply = { interactionId, at, event, ms: Number(detail['ms']), cost } as const
    this.#store.unflushed(() => keepAutoReply(this.#store, reply, RUNS_KEPT_MAX), 'node.auto-runs')
  }
}

/** Runs of the last hour, for the limits of the loop that comes next. */
export const runsKept = (store: Store): Run[] => autoReplyRuns(store)

/** Without a flush of its own: what a power cut takes of it is a run that may come once more. */
export function keepRuns(store: Store, runs: readonly Run[]): void {
  store.unflushed(() => keepAutoReplyRuns(store, runs), 'node.auto-runs')
}
