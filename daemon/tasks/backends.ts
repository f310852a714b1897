/** The programs and models that can answer, as the settings name them. */
import { join } from 'node:path'
import { agents } from '../../autoreply/agents.ts'
import { type Backend, BackendFailed } from '../../autoreply/backend.ts'
import { execBackend, requireProgram } from '../../autoreply/exec.ts'
import { findProgram } from '../../autoreply/program.ts'
import { findSandbox, NO_SANDBOX, type Sandbox } from '../../autoreply/sandbox.ts'
import type { AutoReplyConfig } from '../../protocol/control/auto-reply-config.ts'
import { autoReplySettings } from '../home/config.ts'
import type { Machine } from '../platform/machine.ts'

export type Env = Readonly<Record<string, string | undefined>>

export class Backends {
  readonly #dir: string
  readonly #env: Env
  readonly #random: Machine['random']

  constructor(dir: string, env: Env, random: Machine['random']) {
    this.#dir = dir
    this.#env = env
    this.#random = random
  }

  /** The coding agents that can answer, and whether the program of each is here. */
  agents(): { agent: string; found: boolean }[] {
    const path = this.#env['PATH'] ?? ''
    return agents.map(({ id, bin }) => ({ agent: id, found: findProgram(bin, path) !== undefined }))
  }

  /** What holds the program that answers; undefined where none answers. */
  sandboxOf({ backend, sandbox }: AutoReplyConfig): Sandbox | undefined {
    // what stands in for tests is no program of a task
    if (backend !== 'exec' || this.#env['SVC_EXEC_COMMAND']) return undefined
    return sandbox === false ? NO_SANDBOX : findSandbox(this.#env)
  }

  /** The model client is loaded only where it is used. */
  async of(config: AutoReplyConfig, sandbox = this.sandboxOf(config)): Promise<Backend> {
    const [dir, random] = [this.#dir, this.#random]
    if (config.backend === 'openai') {
      if (config.api_base === undefined) throw new BackendFailed('the openai backend needs --api-base')
      const { openAiBackend } = await import('../../autoreply/openai.ts')
      return openAiBackend({
        apiBase: config.api_base,
        apiKey: config.api_key,
        model: config.model,
        timeoutMs: autoReplySettings(config).api_timeout_seconds * 1000,
        random,
      })
    }
    const { agent, command } = config
    requireProgram({ agent, command, env: this.#env })
    return execBackend({
      agent,
      command,
      extraArgs: config.extra_args ?? [],
      model: config.model,
      openclawAgent: config.openclaw_agent,
      provider:
        config.provider_url === undefined
          ? undefined
          : { url: config.provider_url, keyEnv: config.provider_key_env },
      tools: config.tools ?? 'none',
      sendsFiles: config.send_files === true,
      workRoot: config.work_dir ?? join(dir, 'autoreply'),
      sandbox: sandbox ?? NO_SANDBOX,
      hidden: [dir],
      env: this.#env,
      random,
    })
  }
}
