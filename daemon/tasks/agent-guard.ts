/** What keeps an agent that leaks from answering anybody. */
import type { Attacked } from '../../autoreply/attack/attack.ts'
import type { Sandbox } from '../../autoreply/sandbox.ts'
import type { AutoReplyConfig } from '../../protocol/control/auto-reply-config.ts'
import type { AgentRecords } from './agent-records.ts'
import type { AgentTrials } from './agent-trials.ts'

export type Guard = {
  requireSafe(signal: AbortSignal): Promise<void>
  /** Whether an agent failed as it was not let answer. */
  isToBlame(error: unknown): boolean
}

export class AgentGuard {
  readonly #trials: () => Promise<AgentTrials>
  readonly #records: AgentRecords

  /** `trials`: loaded only where an agent is set or attacked. */
  constructor(trials: () => Promise<AgentTrials>, records: AgentRecords) {
    this.#trials = trials
    this.#records = records
  }

  /** An agent is let use tools from now on. */
  noteTools({ tools, backend }: { tools: string; backend: string }): void {
    this.#records.append('svc.autoreply.tools', { tools, backend })
  }

  /** Throws `BackendFailed` where a new version of the agent leaks. */
  async require(
    config: AutoReplyConfig,
    change: object,
    given: { unsafe: boolean; sandbox: Sandbox; signal: AbortSignal },
  ): Promise<void> {
    const trials = await this.#trials()
    await trials.require(config, change, given)
  }

  /** Attacks the agent of these settings, as a task could. */
  async attack(
    config: AutoReplyConfig,
    sandbox: Sandbox,
    signal: AbortSignal,
  ): Promise<Attacked & { sandbox: Sandbox['kind'] }> {
    const trials = await this.#trials()
    return await trials.attack(config, sandbox, signal)
  }

  /** What each run waits for: an agent of another version is tried first, and one that leaks answers nobody. */
  async of(
    config: AutoReplyConfig,
    sandbox: Sandbox,
    say: (why: string | undefined) => void,
  ): Promise<Guard> {
    if (config.agent === undefined) return { requireSafe: async () => {}, isToBlame: () => false }
    const { AgentLeaks } = await import('./agent-trials.ts')
    const trials = await this.#trials()
    return {
      requireSafe: signal => trials.requireInstalled(config, { sandbox, signal, say }),
      isToBlame: error => error instanceof AgentLeaks,
    }
  }
}
