/** Questions to a backend outside any thread, which its owner asks and nobody else. */
import { type Backend, BackendFailed, type BackendRequest, NotStarted } from '../../autoreply/backend.ts'
import { outgoing } from '../../autoreply/outgoing.ts'
import type { AutoReplyConfig } from '../../protocol/control/auto-reply-config.ts'
import { present } from '../../protocol/encoding/present.ts'
import { autoReplySettings } from '../home/config.ts'
import type { Identity } from '../identity/identity.ts'
import type { Machine } from '../platform/machine.ts'
import type { Backends } from './backends.ts'
import type { NodeSecrets } from './node-secrets.ts'
import { requireFolder } from './work-folder.ts'

export const READY_QUESTION = 'Say in one sentence that you are ready.'
/** A program that still runs after so long was there. */
const START_WAIT_MS = 3_000

export type Answered = { backend: string; answer: string; changes?: string[]; ms: number }

export class OwnQuestions {
  readonly #identity: Identity
  readonly #backends: Backends
  readonly #secrets: NodeSecrets
  readonly #machine: Machine

  constructor(
    { identity, backends, secrets }: { identity: Identity; backends: Backends; secrets: NodeSecrets },
    machine: Machine,
  ) {
    this.#identity = identity
    this.#backends = backends
    this.#secrets = secrets
    this.#machine = machine
  }

  /** Throws {@link NotStarted} where a command can't; what else it answers, and when, is shown by a test. */
  async requireStart(backend: Backend, signal: AbortSignal): Promise<void> {
    const patience = this.#machine.timers.deadline(START_WAIT_MS)
    try {
      await backend.reply(this.#request(READY_QUESTION), AbortSignal.any([signal, patience]))
    } catch (error) {
      if (error instanceof NotStarted || !(error instanceof BackendFailed)) throw error
    }
  }

  async ask(question: string, given: AutoReplyConfig, signal: AbortSignal): Promise<Answered> {
    requireFolder(given.work_dir)
    const { now, timers } = this.#machine
    const started = now()
    const backend = await this.#backends.of(given)
    const request = this.#request(question, given.system_prompt)
    const timeout = timers.deadline(autoReplySettings(given).api_timeout_seconds * 1000)
    const { text } = await backend.reply(request, AbortSignal.any([signal, timeout]))
    const { text: answer, changes } = outgoing(text, this.#secrets.list())
    return {
      backend: backend.name,
      answer,
      ...present({ changes: changes.length === 0 ? undefined : changes }),
      ms: now() - started,
    }
  }

  #request(text: string, systemPrompt?: string): BackendRequest {
    return {
      interactionId: 'test',
      peer: this.#identity.aid,
      peerName: null,
      turns: [{ role: 'peer', text, attachments: [] }],
      systemPrompt,
    }
  }
}
