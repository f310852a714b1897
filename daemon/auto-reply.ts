/** The node's side of automatic answers: which threads wait, the one answer a turn, what must never leave. */
import { join } from 'node:path'
import type { Backend, BackendRequest, ConversationTurn } from '../autoreply/backend.ts'
import { BackendFailed } from '../autoreply/backend.ts'
import { execBackend } from '../autoreply/exec.ts'
import { type AutoReplyPort, type Loop, startLoop, type WaitingThread } from '../autoreply/loop.ts'
import { toBase64, toBase64url, toHex } from '../protocol/bytes.ts'
import type { AutoReplyConfig } from '../protocol/control-shapes.ts'
import { cidText } from '../protocol/hash.ts'
import { kinds } from '../protocol/payload.ts'
import { autoReplySettings } from './config.ts'
import type { Context } from './context.ts'
import { acceptEnd, maySend, proposeEnd } from './conversation.ts'
import { textMessage } from './delegation.ts'
import { refuse } from './refusal.ts'
import type { Interaction, Message } from './threads.ts'

const WAITING_MAX = 100
const ANSWERED_KINDS = new Set<number>([kinds.delegate, kinds.message])

export class AutoReply {
  #ctx: Context
  #env: Readonly<Record<string, string | undefined>>
  #token: string
  #loop: Loop | undefined
  #stopListening: (() => void) | undefined

  constructor(ctx: Context, env: Readonly<Record<string, string | undefined>>, token: string) {
    this.#ctx = ctx
    this.#env = env
    this.#token = token
  }

  /** Starts, changes or ends the loop as the configuration says. */
  async restart(): Promise<void> {
    await this.stop()
    const given = this.#ctx.config().auto_reply
    if (given === undefined) return
    const settings = autoReplySettings(given)
    if (settings.tools !== 'none') {
      this.#ctx.log.warn({ tools: settings.tools }, 'auto-reply may use tools')
      this.#ctx.chain.append('svc.autoreply.tools', { tools: settings.tools, backend: settings.backend })
    }
    this.#loop = startLoop(
      this.#port(),
      {
        backend: await this.#backend(given),
        pollIntervalMs: settings.poll_interval_seconds * 1000,
        historyMax: settings.max_history,
        timeoutMs: settings.api_timeout_seconds * 1000,
        autoRepliesMax: settings.max_auto_replies,
        requireImage: settings.require_image === true,
        usageHint: settings.usage_hint,
        errorReply: settings.error_reply,
      },
      this.#ctx.now,
    )
    this.#stopListening = this.#ctx.events.listen(event => {
      if (event.type === 'inbox' || event.type === 'message') this.#loop?.wake()
    })
  }

  async stop(): Promise<void> {
    this.#stopListening?.()
    await this.#loop?.[Symbol.asyncDispose]()
    this.#loop = undefined
  }

  /** Asks the configured backend one question outside any thread. */
  async test(
    question: string,
    signal: AbortSignal,
  ): Promise<{ backend: string; answer: string; ms: number }> {
    const given = this.#ctx.config().auto_reply ?? refuse('no_auto_reply', 'auto-reply is not configured')
    const started = this.#ctx.now()
    const backend = await this.#backend(given)
    const request: BackendRequest = {
      interactionId: 'test',
      peer: this.#ctx.identity.aid,
      peerName: null,
      turns: [{ role: 'peer', text: question, attachments: [] }],
      systemPrompt: given.system_prompt,
    }
    const timeout = AbortSignal.timeout(autoReplySettings(given).api_timeout_seconds * 1000)
    const { text } = await backend.reply(request, AbortSignal.any([signal, timeout]))
    return { backend: backend.name, answer: text, ms: this.#ctx.now() - started }
  }

  /** The model client is loaded only where it is used. */
  async #backend(config: AutoReplyConfig): Promise<Backend> {
    const { dir, random } = this.#ctx
    if (config.backend === 'openai') {
      if (config.api_base === undefined) throw new BackendFailed('the openai backend needs --api-base')
      const { openAiBackend } = await import('../autoreply/openai.ts')
      return openAiBackend({
        apiBase: config.api_base,
        apiKey: config.api_key,
        model: config.model,
        timeoutMs: autoReplySettings(config).api_timeout_seconds * 1000,
        random,
      })
    }
    return execBackend({
      agent: config.agent,
      command: config.command,
      extraArgs: config.extra_args ?? [],
      model: config.model,
      openclawAgent: config.openclaw_agent,
      tools: config.tools ?? 'none',
      workRoot: config.work_dir ?? join(dir, 'autoreply'),
      env: this.#env,
      random,
    })
  }

  #port(): AutoReplyPort {
    const ctx = this.#ctx
    const at = (thread: WaitingThread): Interaction =>
      ctx.threads.findById(thread.interactionId) ?? refuse('unknown_interaction', thread.interactionId)
    return {
      waiting: async () => this.#waiting(),
      request: async (thread, historyMax) => this.#request(at(thread), historyMax),
      answer: async (thread, text) => this.#answer(thread, text),
      proposeEnd: async thread => this.#step(thread, proposeEnd),
      acceptEnd: async thread => this.#step(thread, acceptEnd),
      secrets: () => this.#secrets(),
      fault: error => ctx.log.warn({ reason: error.message }, 'auto-reply looks again later'),
      report: (event, thread, detail) => {
        ctx.log.info({ event, interaction: thread.interactionId, ...detail }, 'auto-reply')
        ctx.events.emit('autoreply', { event, interaction_id: thread.interactionId })
      },
    }
  }

  #waiting(): WaitingThread[] {
    const ctx = this.#ctx
    const strangers = ctx.config().auto_reply?.strangers === true
    const keys = ctx.store.all<{ key: number }>(
      `SELECT key FROM interactions WHERE side = 'received' AND state IN ('open', 'end_proposed') AND auto_reply = 1
       AND own_last IS NULL ORDER BY updated_at LIMIT ?`,
      WAITING_MAX,
    )
    return keys.flatMap(({ key }) => {
      const interaction = ctx.threads.byKey(key)
      if (!strangers && !ctx.contacts.isContact(interaction.peer)) return []
      return this.#waitingThread(interaction) ?? []
    })
  }

  #waitingThread(interaction: Interaction): WaitingThread | undefined {
    const messages = this.#ctx.threads.messages(interaction.key)
    const last = lastWord(messages)
    const endProposed = interaction.endBy === 'peer'
    if (last === undefined || (last.direction === 'out' && !endProposed)) return undefined
    const images = messages
      .filter(message => message.direction === 'in')
      .flatMap(message => this.#ctx.threads.attachmentsOf(message.key))
    return {
      interactionId: interaction.id,
      peer: interaction.peer,
      turn: last.number,
      autoReplies: interaction.autoReplies,
      endProposed: endProposed && last.direction === 'out',
      hasImage: images.some(attachment => attachment.mediaType.startsWith('image/')),
    }
  }

  #request(interaction: Interaction, historyMax: number): BackendRequest {
    const ctx = this.#ctx
    const spoken = ctx.threads
      .messages(interaction.key)
      .filter(message => message.text !== '' || message.kind <= kinds.message)
    const turns = spoken.slice(-historyMax).map(
      (message): ConversationTurn => ({
        role: message.direction === 'in' ? 'peer' : 'me',
        text: message.text,
        attachments: ctx.threads.attachmentsOf(message.key).map(({ name, mediaType, size, cid }) => ({
          name,
          mediaType,
          bytes: size,
          path: ctx.attachments.find(cidText(cid)) ?? null,
        })),
      }),
    )
    return {
      interactionId: interaction.id,
      peer: interaction.peer,
      peerName: ctx.contacts.petnameOf(interaction.peer),
      turns,
      systemPrompt: ctx.config().auto_reply?.system_prompt,
    }
  }

  /** Commits the one answer to a turn; whoever answered it in the meantime wins. */
  #answer(thread: WaitingThread, text: string): boolean {
    const ctx = this.#ctx
    const answered = ctx.store.transaction(() => {
      const interaction = ctx.threads.findById(thread.interactionId)
      if (interaction === undefined || !maySend(interaction)) return false
      const last = lastWord(ctx.threads.messages(interaction.key))
      if (last === undefined || last.direction === 'out' || last.number !== thread.turn) return false
      const said = ctx.threads.queue(interaction, textMessage(text, [], true))
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

  #secrets(): string[] {
    const { identity, keys, config } = this.#ctx
    const seeds = [identity.seed, keys.mailboxSeed].flatMap(seed => [
      toHex(seed),
      toBase64(seed),
      toBase64url(seed),
    ])
    return [this.#token, config().auto_reply?.api_key ?? '', ...seeds]
  }
}

/** The newest message that is a word of one side, not a step of the protocol. */
function lastWord(messages: readonly Message[]): Message | undefined {
  return messages.findLast(
    message => message.number > 0 && (ANSWERED_KINDS.has(message.kind) || message.kind === kinds.result),
  )
}
