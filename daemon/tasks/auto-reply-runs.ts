/** The last runs of the auto-reply, in memory: how long each took, and what it cost where the backend says so. */
import type { WaitingThread } from '../../autoreply/loop.ts'
import { plainLine } from '../../protocol/encoding/plain-text.ts'
import { present } from '../../protocol/encoding/present.ts'

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
  #kept: AutoReplyRun[] = []

  /** The newest first. */
  get list(): AutoReplyRun[] {
    return this.#kept
  }

  /** Keeps what the loop reports of a run; what else it reports is none. */
  note(
    event: string,
    thread: Pick<WaitingThread, 'interactionId'>,
    at: number,
    detail: Record<string, unknown>,
  ) {
    if (event !== 'answered' && event !== 'failed') return
    const { ms, cost } = detail
    const words = typeof cost === 'string' ? plainLine(cost, COST_CHARACTERS_MAX) : undefined
    const run = {
      interaction_id: thread.interactionId,
      at,
      event,
      ms: Number(ms),
      ...present({ cost: words }),
    } as const
    this.#kept = [run, ...this.#kept].slice(0, RUNS_KEPT_MAX)
  }
}
