/**
 * Which versions of coding agents withstood an attack on this machine: one that has not been tried is tried before it
 * answers anybody, and one that leaks answers nobody unless its owner insists.
 */
import { join } from 'node:path'
import { type Attacked, attack, canAttack, versionOf } from '../../autoreply/attack/attack.ts'
import { BackendFailed } from '../../autoreply/backend.ts'
import type { Sandbox } from '../../autoreply/sandbox.ts'
import { buildInfo } from '../../protocol/build-info.ts'
import type { AutoReplyConfig } from '../../protocol/control/auto-reply-config.ts'
import { findFile, replaceFile } from '../platform/files.ts'
import type { Machine } from '../platform/machine.ts'
import type { AgentRecords } from './agent-records.ts'

type TrialParts = { dir: string; records: AgentRecords; random: Machine['random'] }
type Env = Readonly<Record<string, string | undefined>>

const FILE = 'autoreply-tried.json'
const KEPT_MAX = 50
/** What a change names that makes another program of the one that was tried. */
const TRIED_ANEW = ['backend', 'agent', 'extra_args', 'tools', 'sandbox'] as const

/** The program that is installed leaks, and answers nobody. */
export class AgentLeaks extends BackendFailed {}

/** What was tried, as one text: another version of it, or other walls, is another one. */
type Trial = { agent: string; version: string; walls: Sandbox['kind']; args: string[]; svc: string }
/** What its owner insisted on although it leaks is let through at each run, and tried anew when it is set again. */
type Insisted = Trial & { insisted: true }

export class AgentTrials {
  readonly #parts: TrialParts
  readonly #env: Env
  readonly #attacks: typeof attack
  /** What leaked, by trial, in a sentence. */
  readonly #leaked = new Map<string, string>()

  /** `attacks` tries an agent, with the programs that this takes. */
  constructor(parts: TrialParts, env: Env, attacks = attack) {
    this.#parts = parts
    this.#env = env
    this.#attacks = attacks
  }

  /** Throws {@link BackendFailed} where these settings let a program answer that leaks; `unsafe` lets it all the same. */
  async require(
    config: AutoReplyConfig,
    change: object,
    given: { unsafe: boolean; sandbox: Sandbox; signal: AbortSignal },
  ): Promise<void> {
    const { unsafe, sandbox, signal } = given
    const agent = agentOf(config)
    if (agent === undefined || !TRIED_ANEW.some(member => member in change)) return
    // a stand-in for tests, which leaves nothing of the agent to try
    if (this.#env['SVC_EXEC_COMMAND']) return
    const installed = await versionOf(agent, this.#env, { signal })
    if (this.#passed().includes(keyOf(trialOf(config, agent, installed, sandbox)))) return
    const { version, leaks } = await this.attack(config, sandbox, signal)
    if (leaks.length === 0) return
    if (!unsafe) throw new BackendFailed(sayLeaks(agent, version, leaks))
    this.#keep({ ...trialOf(config, agent, version, sandbox), insisted: true })
    this.#parts.records.append('svc.autoreply.unsafe', { agent, version, leaks })
  }

  /**
   * Before each run: throws {@link AgentLeaks} where another version than was tried is installed and leaks. `say` is told
   * what keeps the agent from answering, and that nothing does any more.
   */
  async requireInstalled(
    config: AutoReplyConfig,
    given: { sandbox: Sandbox; signal: AbortSignal; say: (why: string | undefined) => void },
  ): Promise<void> {
    const { sandbox, signal, say } = given
    const agent = agentOf(config)
    if (agent === undefined || this.#env['SVC_EXEC_COMMAND']) return
    const version = await versionOf(agent, this.#env, { signal })
    const trial = trialOf(config, agent, version, sandbox)
    const passed = this.#passed()
    if (!passed.includes(keyOf(trial)) && !passed.includes(keyOf({ ...trial, insisted: true }))) {
      const known = this.#leaked.get(keyOf(trial))
      if (known !== undefined) throw new AgentLeaks(known)
      say(`${agent} ${version} was not tried here yet; it is before it answers`)
      const { leaks } = await this.attack(config, sandbox, signal)
      if (leaks.length > 0) {
        const why = sayLeaks(agent, version, leaks)
        this.#leaked.set(keyOf(trial), why)
        say(why)
        throw new AgentLeaks(why)
      }
    }
    say(undefined)
  }

  /** Attacks the agent of these settings and keeps that it passed. */
  async attack(
    config: AutoReplyConfig,
    sandbox: Sandbox,
    signal: AbortSignal,
  ): Promise<Attacked & { sandbox: Sandbox['kind'] }> {
    const agent = agentOf(config)
    if (agent === undefined)
      throw new BackendFailed('only a coding agent without tools can be attacked; set one with --agent')
    const { random } = this.#parts
    const extraArgs = config.extra_args ?? []
    const found = await this.#attacks({ agent, env: this.#env, sandbox, extraArgs, random }, signal)
    if (found.leaks.length === 0) this.#keep(trialOf(config, agent, found.version, sandbox))
    return { ...found, sandbox: sandbox.kind }
  }

  #passed(): string[] {
    try {
      const found: unknown = JSON.parse(findFile(join(this.#parts.dir, FILE))?.toString('utf8') ?? '[]')
      return Array.isArray(found) ? found.filter(one => typeof one === 'string') : []
    } catch {
      return []
    }
  }

  #keep(trial: Trial | Insisted): void {
    const key = keyOf(trial)
    const passed = [...this.#passed().filter(one => one !== key), key].slice(-KEPT_MAX)
    replaceFile(join(this.#parts.dir, FILE), JSON.stringify(passed, null, 1))
  }
}

const keyOf = (trial: Trial | Insisted): string => JSON.stringify(trial)

const trialOf = (
  { extra_args = [] }: AutoReplyConfig,
  agent: string,
  version: string,
  { kind: walls }: Sandbox,
): Trial => ({ agent, version, walls, args: extra_args, svc: buildInfo.version })

const sayLeaks = (agent: string, version: string, leaks: readonly string[]): string =>
  `${agent} ${version} does not withstand an attack by the task it answers: ${leaks.join('; ')}; use another agent or version, or insist with --unsafe`

/** The agent that answers without tools; what its owner lets use tools is not held to anything. */
function agentOf({ backend, agent, command, tools }: AutoReplyConfig): string | undefined {
  if (backend !== 'exec' || command !== undefined || (tools ?? 'none') !== 'none') return undefined
  return agent !== undefined && canAttack(agent) ? agent : undefined
}
