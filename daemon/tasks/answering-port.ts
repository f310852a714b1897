/** What the loop of automatic answers sees and does of this node. */
import type { Logger } from 'pino'
import type { AutoReplyPort } from '../../autoreply/answering.ts'
import type { Events } from '../platform/events.ts'
import type { Machine } from '../platform/machine.ts'
import { isStoreFailure } from '../platform/room.ts'
import type { Store } from '../store/open.ts'
import type { Guard } from './agent-guard.ts'
import type { AutoAnswers } from './auto-answers.ts'
import { type AutoReplyRuns, keepRuns, runsKept } from './auto-reply-runs.ts'
import type { UnansweredThreads } from './auto-reply-threads.ts'
import type { NodeSecrets } from './node-secrets.ts'

type PortParts = {
  store: Store
  waiting: UnansweredThreads
  answers: AutoAnswers
  runs: AutoReplyRuns
  secrets: NodeSecrets
  events: Events
}

/** Why the last answer failed; undefined once one succeeded. */
export type Failed = { atMs: number; reason: string } | undefined

export class AnsweringPort {
  readonly #parts: PortParts
  readonly #now: () => number
  readonly #log: Logger

  constructor(parts: PortParts, { now, log }: Machine) {
    this.#parts = parts
    this.#now = now
    this.#log = log
  }

  /** The last answers. */
  get runs(): AutoReplyRuns {
    return this.#parts.runs
  }

  open({ requireSafe, isToBlame }: Guard, ended: (failed: Failed) => void): AutoReplyPort {
    const { store, waiting, answers, runs, secrets, events } = this.#parts
    return {
      waiting: async () => waiting.list(),
      requireSafe,
      request: async (thread, historyMax) => answers.request(thread, historyMax),
      answer: (thread, text, files = []) => answers.answer(thread, text, files),
      proposeEnd: async thread => answers.proposeEnd(thread),
      acceptEnd: async thread => answers.acceptEnd(thread),
      secrets: () => secrets.list(),
      ranLately: runsKept(store),
      keepRuns: ran => keepRuns(store, ran),
      isOwnFailure: error => isToBlame(error) || isStoreFailure(error),
      report: (event, thread, detail) => {
        if (event === 'failed') ended({ atMs: this.#now(), reason: String(detail['error']) })
        if (event === 'answered') ended(undefined)
        runs.note(event, thread, this.#now(), detail)
        this.#log.info({ event, interaction: thread.interactionId, ...detail }, 'auto-reply')
        events.emit('autoreply', { event, interaction_id: thread.interactionId })
      },
    }
  }
}
