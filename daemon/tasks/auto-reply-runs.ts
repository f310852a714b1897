/** The last runs of the auto-reply, also those of an earlier start: how long each took, and what it cost where the backend says so. */
import type { Run, WaitingThread } from '../../autoreply/answering.ts'
import { fromUtf8, utf8 } from '../../protocol/encoding/bytes.ts'
import { plainLine } from '../../protocol/encoding/plain-text.ts'
import { present } from '../../protocol/encoding/present.ts'
import { recall, remember } from '../store/memory.ts'
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

const SHOWN = 'answers of the auto-reply'

export class AutoReplyRuns {
  readonly #store: Store
  #kept: AutoReplyRun[] | undefined

  constructor(store: Store) {
    this.#store = store
  }

  /** The newest first. */
  get list(): AutoReplyRun[] {
    if (this.#kept === undefined) {
      const kept = recall(this.#store, SHOWN)
      this.#kept = kept === undefined ? [] : (JSON.parse(fromUtf8(kept)) as AutoReplyRun[])
    }
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
    const next = [run, ...this.list].slice(0, RUNS_KEPT_MAX)
    this.#kept = next
    this.#store.unflushed(() => remember(this.#store, SHOWN, utf8(JSON.stringify(next))), 'node.auto-runs')
  }
}

const KEPT = 'runs of the auto-reply'

/** Runs of the last hour, for the limits of the loop that comes next. */
export function runsKept(store: Store): Run[] {
  const kept = recall(store, KEPT)
  return kept === undefined ? [] : (JSON.parse(fromUtf8(kept)) as Run[])
}

/** Without a flush of its own: what a power cut takes of it is a run that may come once more. */
export function keepRuns(store: Store, runs: readonly Run[]): void {
  store.unflushed(() => remember(store, KEPT, utf8(JSON.stringify(runs))), 'node.auto-runs')
}
