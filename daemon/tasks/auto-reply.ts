/** The node's side of automatic answers: the loop that gives them, and what its owner tries before. */
import { type Answering, answering } from '../../autoreply/answering.ts'
import type { BackendFailed } from '../../autoreply/backend.ts'
import { NO_SANDBOX, type Sandbox } from '../../autoreply/sandbox.ts'
import type { AutoReplyConfig } from '../../protocol/control/auto-reply-config.ts'
import { autoReplySettings } from '../home/config.ts'
import type { Settings } from '../home/settings.ts'
import type { Events } from '../platform/events.ts'
import { Loop } from '../platform/loop.ts'
import type { Machine } from '../platform/machine.ts'
import { Waker } from '../platform/waker.ts'
import { refuse } from '../refusal.ts'
import type { AgentGuard } from './agent-guard.ts'
import type { AnsweringPort, Failed } from './answering-port.ts'
import type { AutoReplyRuns } from './auto-reply-runs.ts'
import type { Backends } from './backends.ts'
import type { Answered, OwnQuestions } from './own-questions.ts'
import { requireFolder } from './work-folder.ts'

/** Settings with which a command may find its program no longer. */
const STARTS_ANEW = ['command', 'sandbox', 'work_dir']

type AutoReplyParts = {
  settings: Settings
  events: Events
  backends: Backends
  guard: AgentGuard
  questions: OwnQuestions
  port: AnsweringPort
}

export class AutoReply {
  readonly #parts: AutoReplyParts
  readonly #machine: Machine
  readonly #restFirstMs: number
  #loop: Loop | undefined
  #stopListening: (() => void) | undefined
  #fault: string | undefined
  #failed: Failed
  #sandbox: Sandbox | undefined

  constructor(parts: AutoReplyParts, machine: Machine, restFirstMs: number) {
    this.#parts = parts
    this.#machine = machine
    this.#restFirstMs = restFirstMs
  }

  /** The last answers. */
  get runs(): AutoReplyRuns {
    return this.#parts.port.runs
  }

  /** Why auto-reply is not running although it is configured. */
  get fault(): string | undefined {
    return this.#fault
  }

  /** Why the last answer failed, until one succeeds. */
  get lastFailure(): string | undefined {
    if (this.#failed === undefined) return undefined
    const { atMs, reason } = this.#failed
    return `the last automatic answer failed at ${new Date(atMs).toISOString()}: ${reason}; try it with: svc autoreply test`
  }

  /** What holds the program that answers; undefined where none does, or no program answers. */
  get sandbox(): Sandbox | undefined {
    return this.#sandbox
  }

  /** The coding agents that can answer, and whether the program of each is here. */
  agents(): { agent: string; found: boolean }[] {
    return this.#parts.backends.agents()
  }

  /** Starts with the node: a backend that cannot start leaves the node running, and says so in its status. */
  async start(): Promise<void> {
    try {
      await this.restart()
    } catch (error) {
      this.#fault = error instanceof Error ? error.message : String(error)
      this.#machine.log.warn({ reason: this.#fault }, 'auto-reply is not running')
    }
  }

  /** Throws {@link BackendFailed} where these settings could not answer anybody, or a new version of an agent leaks. */
  async check(
    config: AutoReplyConfig,
    change: object,
    given: { unsafe: boolean; signal: AbortSignal },
  ): Promise<void> {
    const { backends, questions, guard } = this.#parts
    requireFolder(config.work_dir)
    const sandbox = backends.sandboxOf(config)
    const backend = await backends.of(config, sandbox)
    if (config.command !== undefined && STARTS_ANEW.some(member => member in change))
      await questions.requireStart(backend, given.signal)
    await guard.require(config, change, { ...given, sandbox: sandbox ?? NO_SANDBOX })
  }

  /** Attacks the agent that answers, as a task could; what leaked, in sentences. */
  async attack(signal: AbortSignal, given = this.#requireConfig()) {
    const { backends, guard } = this.#parts
    await backends.of(given)
    return await guard.attack(given, backends.sandboxOf(given) ?? NO_SANDBOX, signal)
  }

  /** Asks the backend one question outside any thread, that of the node or one that is to be tried. */
  async test(question: string, signal: AbortSignal, given = this.#requireConfig()): Promise<Answered> {
    const { settings, questions } = this.#parts
    const answered = await questions.ask(question, given, signal)
    if (given === settings.current.auto_reply) this.#failed = undefined
    return answered
  }

  #requireConfig(): AutoReplyConfig {
    const { settings } = this.#parts
    return settings.current.auto_reply ?? refuse('no_auto_reply', 'auto-reply is not configured')
  }

  /** Starts, changes or ends the loop as the configuration says. */
  async restart(): Promise<void> {
    await this.stop()
    this.#fault = undefined
    this.#failed = undefined
    this.#sandbox = undefined
    const given = this.#parts.settings.current.auto_reply
    if (given === undefined) return
    const settings = autoReplySettings(given)
    if (settings.tools !== 'none') {
      this.#machine.log.warn({ tools: settings.tools }, 'auto-reply may use tools')
      this.#parts.guard.noteTools(settings)
    }
    const { round } = await this.#answering(given)
    this.#run(round, settings.poll_interval_seconds * 1000)
  }

  async #answering(given: AutoReplyConfig): Promise<Answering> {
    const { backends, guard, port } = this.#parts
    const settings = autoReplySettings(given)
    this.#sandbox = backends.sandboxOf(given)
    const say = (why: string | undefined) => {
      this.#fault = why
    }
    const ended = (failed: Failed) => {
      this.#failed = failed
    }
    return answering(
      port.open(await guard.of(given, this.#sandbox ?? NO_SANDBOX, say), ended),
      {
        backend: await backends.of(given, this.#sandbox),
        historyMax: settings.max_history,
        timeoutMs: settings.api_timeout_seconds * 1000,
        autoRepliesMax: settings.max_auto_replies,
        requireImage: settings.require_image === true,
        usageHint: settings.usage_hint,
        errorReply: settings.error_reply,
      },
      this.#machine.now,
    )
  }

  #run(round: Answering['round'], pauseMs: number): void {
    const { log, timers } = this.#machine
    const restFirstMs = this.#restFirstMs
    const waker = new Waker(timers)
    let isStale = false
    const turn = async (signal: AbortSignal) => {
      isStale = false
      await round(signal, () => isStale)
      return pauseMs
    }
    this.#loop = new Loop({ name: 'auto-reply', waker, log, restFirstMs, turn })
    this.#stopListening = this.#parts.events.listen(event => {
      if (event.type !== 'inbox' && event.type !== 'message') return
      isStale = true
      waker.wake()
    })
    this.#loop.start()
  }

  async stop(): Promise<void> {
    this.#stopListening?.()
    await this.#loop?.stop()
    this.#loop = undefined
  }
}
