/** The node's side of automatic answers: which threads wait, the one answer a turn, what must never leave. */
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { agents } from '../../autoreply/agents.ts'
import {
  type Answering,
  type AutoReplyPort,
  answering,
  type WaitingThread,
} from '../../autoreply/answering.ts'
import type { Backend, BackendRequest, MadeFile } from '../../autoreply/backend.ts'
import { BackendFailed, NotStarted } from '../../autoreply/backend.ts'
import { execBackend, requireProgram } from '../../autoreply/exec.ts'
import { outgoing } from '../../autoreply/outgoing.ts'
import { findProgram } from '../../autoreply/program.ts'
import { proxySecrets } from '../../autoreply/proxy-secrets.ts'
import { findSandbox, NO_SANDBOX, type Sandbox } from '../../autoreply/sandbox.ts'
import type { AutoReplyConfig } from '../../protocol/control/auto-reply-config.ts'
import { present } from '../../protocol/encoding/present.ts'
import type { Attachment } from '../../protocol/mail/message.ts'
import { kinds } from '../../protocol/mail/payload.ts'
import type { Context } from '../context.ts'
import { autoReplySettings } from '../home/config.ts'
import { phraseOfSeed } from '../identity/identity.ts'
import { PricedAnswers } from '../payments/priced-tasks.ts'
import { Loop } from '../platform/loop.ts'
import { isStoreFailure } from '../platform/room.ts'
import { Waker } from '../platform/waker.ts'
import { refuse } from '../refusal.ts'
import { markBegun, paymentOf } from '../store/payments.ts'
import type { Interaction } from '../store/threads.ts'
import { lastWord } from '../store/transcripts.ts'
import type { AgentTrials } from './agent-trials.ts'
import { AutoReplyRuns, keepRuns, runsKept } from './auto-reply-runs.ts'
import { requestOf, waitingThreads } from './auto-reply-threads.ts'
import { acceptEnd, maySend, proposeEnd } from './conversation.ts'
import { textMessage } from './messages.ts'
import { requireFolder } from './work-folder.ts'

type Guard = Pick<AutoReplyPort, 'requireSafe'> & { isToBlame(error: unknown): boolean }

export const READY_QUESTION = 'Say in one sentence that you are ready.'
/** Settings with which a command may find its program no longer. */
const STARTS_ANEW = ['command', 'sandbox', 'work_dir']
/** A program that still runs after so long was there. */
const START_WAIT_MS = 3_000

export class AutoReply {
  #ctx: Context
  #env: Readonly<Record<string, string | undefined>>
  /** Tokens of the local interfaces. */
  #tokens: () => readonly string[]
  #loop: Loop | undefined
  #stopListening: (() => void) | undefined
  #fault: string | undefined
  #failed: { atMs: number; reason: string } | undefined
  #sandbox: Sandbox | undefined
  /** The last answers. */
  readonly runs: AutoReplyRuns

  constructor(
    ctx: Context,
    env: Readonly<Record<string, string | undefined>>,
    tokens: () => readonly string[],
  ) {
    this.#ctx = ctx
    this.runs = new AutoReplyRuns(ctx.store)
    this.#env = env
    this.#tokens = tokens
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
    const path = this.#env['PATH'] ?? ''
    return agents.map(({ id, bin }) => ({ agent: id, found: findProgram(bin, path) !== undefined }))
  }

  /** Starts with the node: a backend that cannot start leaves the node running, and says so in its status. */
  async start(): Promise<void> {
    try {
      await this.restart()
    } catch (error) {
      this.#fault = error instanceof Error ? error.message : String(error)
      this.#ctx.log.warn({ reason: this.#fault }, 'auto-reply is not running')
    }
  }

  /** Throws {@link BackendFailed} where these settings could not answer anybody, or a new version of an agent leaks. */
  async check(
    config: AutoReplyConfig,
    change: object,
    given: { unsafe: boolean; signal: AbortSignal },
  ): Promise<void> {
    requireFolder(config.work_dir)
    const sandbox = this.#sandboxOf(config)
    const backend = await this.#backend(config, sandbox)
    if (config.command !== undefined && STARTS_ANEW.some(member => member in change))
      await this.#requireStart(backend, given.signal)
    const trials = await this.#trials()
    await trials.require(config, change, { ...given, sandbox: sandbox ?? NO_SANDBOX })
  }

  /** Throws {@link NotStarted} where a command can't; what else it answers, and when, is shown by a test. */
  async #requireStart(backend: Backend, signal: AbortSignal): Promise<void> {
    const patience = this.#ctx.timers.deadline(START_WAIT_MS)
    try {
      await backend.reply(this.#question(READY_QUESTION), AbortSignal.any([signal, patience]))
    } catch (error) {
      if (error instanceof NotStarted || !(error instanceof BackendFailed)) throw error
    }
  }

  /** A question that its owner asks, and nobody else. */
  #question(text: string, systemPrompt?: string): BackendRequest {
    return {
      interactionId: 'test',
      peer: this.#ctx.identity.aid,
      peerName: null,
      turns: [{ role: 'peer', text, attachments: [] }],
      systemPrompt,
    }
  }

  /** Attacks the agent that answers, as a task could; what leaked, in sentences. */
  async attack(signal: AbortSignal, given = this.#requireConfig()) {
    await this.#backend(given)
    const trials = await this.#trials()
    return await trials.attack(given, this.#sandboxOf(given) ?? NO_SANDBOX, signal)
  }

  #requireConfig(): AutoReplyConfig {
    return this.#ctx.settings.current.auto_reply ?? refuse('no_auto_reply', 'auto-reply is not configured')
  }

  /** Loaded only where an agent is set or attacked. */
  async #trials(): Promise<AgentTrials> {
    const trials = await import('./agent-trials.ts')
    return new trials.AgentTrials(this.#ctx, this.#env)
  }

  /** Starts, changes or ends the loop as the configuration says. */
  async restart(): Promise<void> {
    await this.stop()
    this.#fault = undefined
    this.#failed = undefined
    this.#sandbox = undefined
    const given = this.#ctx.settings.current.auto_reply
    if (given === undefined) return
    const settings = autoReplySettings(given)
    if (settings.tools !== 'none') {
      this.#ctx.log.warn({ tools: settings.tools }, 'auto-reply may use tools')
      if (this.#ctx.hub.oldCopy === undefined)
        this.#ctx.chain.append('svc.autoreply.tools', { tools: settings.tools, backend: settings.backend })
    }
    this.#sandbox = this.#sandboxOf(given)
    const { round } = answering(
      this.#port(await this.#guard(given, this.#sandbox ?? NO_SANDBOX)),
      {
        backend: await this.#backend(given, this.#sandbox),
        historyMax: settings.max_history,
        timeoutMs: settings.api_timeout_seconds * 1000,
        autoRepliesMax: settings.max_auto_replies,
        requireImage: settings.require_image === true,
        usageHint: settings.usage_hint,
        errorReply: settings.error_reply,
      },
      this.#ctx.now,
    )
    this.#run(round, settings.poll_interval_seconds * 1000)
  }

  #run(round: Answering['round'], pauseMs: number): void {
    const { log, timers, timings, events } = this.#ctx
    const waker = new Waker(timers)
    let isStale = false
    const turn = async (signal: AbortSignal) => {
      isStale = false
      await round(signal, () => isStale)
      return pauseMs
    }
    const restFirstMs = timings.backoffFirstMs
    this.#loop = new Loop({ name: 'auto-reply', waker, log, restFirstMs, turn })
    this.#stopListening = events.listen(event => {
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

  /** Asks the backend one question outside any thread, that of the node or one that is to be tried. */
  async test(
    question: string,
    signal: AbortSignal,
    given = this.#requireConfig(),
  ): Promise<{ backend: string; answer: string; changes?: string[]; ms: number }> {
    requireFolder(given.work_dir)
    const started = this.#ctx.now()
    const backend = await this.#backend(given)
    const request = this.#question(question, given.system_prompt)
    const timeout = this.#ctx.timers.deadline(autoReplySettings(given).api_timeout_seconds * 1000)
    const { text } = await backend.reply(request, AbortSignal.any([signal, timeout]))
    const { text: answer, changes } = outgoing(text, this.#secrets())
    if (given === this.#ctx.settings.current.auto_reply) this.#failed = undefined
    return {
      backend: backend.name,
      answer,
      ...present({ changes: changes.length === 0 ? undefined : changes }),
      ms: this.#ctx.now() - started,
    }
  }

  #sandboxOf({ backend, sandbox }: AutoReplyConfig): Sandbox | undefined {
    // what stands in for tests is no program of a task
    if (backend !== 'exec' || this.#env['SVC_EXEC_COMMAND']) return undefined
    return sandbox === false ? NO_SANDBOX : findSandbox(this.#env)
  }

  /** The model client is loaded only where it is used. */
  async #backend(config: AutoReplyConfig, sandbox = this.#sandboxOf(config)): Promise<Backend> {
    const { dir, random } = this.#ctx
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

  /** What each run waits for: an agent of another version is tried first, and one that leaks answers nobody. */
  async #guard(config: AutoReplyConfig, sandbox: Sandbox): Promise<Guard> {
    if (config.agent === undefined) return { requireSafe: async () => {}, isToBlame: () => false }
    const { AgentLeaks } = await import('./agent-trials.ts')
    const trials = await this.#trials()
    const say = (why: string | undefined) => {
      this.#fault = why
    }
    return {
      requireSafe: signal => trials.requireInstalled(config, { sandbox, signal, say }),
      isToBlame: error => error instanceof AgentLeaks,
    }
  }

  #port({ requireSafe, isToBlame }: Guard): AutoReplyPort {
    const ctx = this.#ctx
    const at = (thread: WaitingThread): Interaction =>
      ctx.threads.findById(thread.interactionId) ?? refuse('unknown_interaction', thread.interactionId)
    return {
      waiting: async () => waitingThreads(ctx),
      requireSafe,
      request: async (thread, historyMax) => {
        const interaction = at(thread)
        // a withdrawal costs something from here on
        if (paymentOf(ctx.store, interaction.key)?.state === 'held')
          ctx.store.transaction(() => markBegun(ctx.store, interaction.key, ctx.hubNow()), 'node.payment')
        return requestOf(ctx, interaction, historyMax)
      },
      answer: async (thread, text, files = []) => this.#answer(thread, text, await this.#taken(files)),
      proposeEnd: async thread => this.#step(thread, proposeEnd),
      acceptEnd: async thread => this.#step(thread, acceptEnd),
      secrets: () => this.#secrets(),
      ranLately: runsKept(ctx.store),
      keepRuns: runs => keepRuns(ctx.store, runs),
      isOwnFailure: error => isToBlame(error) || isStoreFailure(error),
      report: (event, thread, detail) => {
        if (event === 'failed') this.#failed = { atMs: ctx.now(), reason: String(detail['error']) }
        if (event === 'answered') this.#failed = undefined
        this.runs.note(event, thread, ctx.now(), detail)
        ctx.log.info({ event, interaction: thread.interactionId, ...detail }, 'auto-reply')
        ctx.events.emit('autoreply', { event, interaction_id: thread.interactionId })
      },
    }
  }

  /** What a run left to be sent, as attachments; the secrets of this node were looked for in it. */
  async #taken(files: readonly MadeFile[]): Promise<Attachment[]> {
    const { attachments } = this.#ctx
    const taken: Attachment[] = []
    for (const { name, content } of files) {
      const { path } = await attachments.uploads.take(name, Readable.from([content]))
      taken.push(attachments.take(path))
      attachments.uploads.spent([path])
    }
    return taken
  }

  /** Commits the one answer to a turn; whoever answered it in the meantime wins. */
  #answer(thread: WaitingThread, text: string, attachments: readonly Attachment[]): boolean {
    const ctx = this.#ctx
    const answered = ctx.store.transaction(() => {
      const interaction = ctx.threads.findById(thread.interactionId)
      if (interaction === undefined || !maySend(interaction)) return false
      const last = lastWord(ctx.store, interaction.key)
      if (last === undefined || last.direction === 'out' || last.number !== thread.turn) return false
      const said = new PricedAnswers(ctx, ctx).queue(interaction, textMessage(text, attachments, true))
      ctx.threads.update(said.interaction, { autoReplies: interaction.autoReplies + 1 })
      ctx.store.afterCommit(() =>
        ctx.events.emit('message', { interaction_id: interaction.id, kind: kinds.message }),
      )
      return true
    }, 'node.auto-reply')
    return answered
  }

  #step(thread: WaitingThread, step: (ctx: Context, interaction: Interaction) => Interaction): void {
    const ctx = this.#ctx
    ctx.store.transaction(() => {
      const interaction = ctx.threads.findById(thread.interactionId)
      if (interaction !== undefined && interaction.ownLast === null) step(ctx, interaction)
    }, 'node.auto-end')
  }

  #secrets(): (string | Uint8Array)[] {
    const { identity, keys, settings } = this.#ctx
    const next = identity.nextSeed
    const identitySeeds = [identity.seed, ...(next === undefined ? [] : [next])]
    const seeds = [
      ...identitySeeds,
      keys.mailboxSeed,
      ...keys.encryptionSeeds,
      ...this.#ctx.capabilities.heldSeeds(),
    ]
    return [
      ...this.#tokens(),
      settings.current.auto_reply?.api_key ?? '',
      ...proxySecrets(this.#env),
      ...identitySeeds.map(phraseOfSeed),
      ...seeds,
    ]
  }
}
