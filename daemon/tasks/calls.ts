/**
 * Calls of capabilities that this node serves: each that may run is run once, and answered with its effect. A mark in the
 * store stands before a run, so that a call which a crash cut short is not made a second time.
 */
import { utf8 } from '../../protocol/encoding/bytes.ts'
import { decodePayload, kinds } from '../../protocol/mail/payload.ts'
import { parseRequestDocument } from '../../protocol/proof/documents.ts'
import { buildEffect, type Effect } from '../../protocol/proof/effect.ts'
import type { Context } from '../context.ts'
import type { Modules } from '../modules/modules.ts'
import { forget, recall, remember } from '../store/memory.ts'
import type { Interaction } from '../store/threads.ts'
import { acceptEnd, type ConversationNeeds } from './conversation.ts'
import { answerWithEffect, notServed } from './dispatch.ts'

type Needs = ConversationNeeds & Pick<Context, 'hub' | 'log'>

const AT_ONCE_MAX = 8
const PER_PEER_MAX = 2
/** Whatever brings a call wakes this; it looks by itself for the sake of what nobody thought of. */
const LOOK_MS = 3_600_000
const STOPPED = 'the node stopped while this ran; whether it took effect is not known'
/** Received calls that no agent answers, without a word of ours so far: a few of each peer, so that none holds up others. */
const WAITING_SQL = `SELECT key FROM (
  SELECT key, row_number() OVER (PARTITION BY peer ORDER BY key) AS rank FROM interactions
  WHERE side = 'received' AND capability IS NOT NULL AND auto_reply = 0 AND numbered = 0 AND own_last IS NULL
    AND state IN ('open', 'end_proposed') AND (state = 'open' OR end_by = 'peer')
) WHERE rank <= 8 ORDER BY rank, key LIMIT 256`

const markOf = ({ id }: Interaction): string => `running call ${id}`

export class Calls {
  readonly #ctx: Needs
  readonly #modules: Modules
  readonly #running = new Map<number, { peer: string; done: Promise<void> }>()
  readonly #lifetime = new AbortController()
  #loop: Promise<void> | undefined

  constructor(ctx: Needs, modules: Modules) {
    this.#ctx = ctx
    this.#modules = modules
  }

  start(): void {
    for (const interaction of this.#waiting())
      if (recall(this.#ctx.store, markOf(interaction)) !== undefined)
        this.#answer(interaction, buildEffect({ status: 'FAILED', message: STOPPED }))
    this.#loop = this.#work()
  }

  /** Ends what runs; its callers are told at the next start. */
  async stop(): Promise<void> {
    this.#lifetime.abort()
    this.#ctx.wakers.calls.wake()
    await this.#loop
    await Promise.all([...this.#running.values()].map(({ done }) => done))
  }

  async #work(): Promise<void> {
    const { signal } = this.#lifetime
    while (!signal.aborted) {
      if (this.#ctx.hub.oldCopy === undefined && !this.#ctx.identity.log.deactivated) this.#startDue()
      await this.#ctx.wakers.calls.sleep(LOOK_MS)
    }
  }

  #startDue(): void {
    for (const interaction of this.#waiting()) {
      const ofPeer = [...this.#running.values()].filter(({ peer }) => peer === interaction.peer).length
      if (this.#running.size >= AT_ONCE_MAX) return
      if (this.#running.has(interaction.key) || ofPeer >= PER_PEER_MAX) continue
      const done = this.#run(interaction)
        .catch(error => this.#ctx.log.error({ err: error, interaction: interaction.id }, 'a call failed'))
        .finally(() => {
          this.#running.delete(interaction.key)
          this.#ctx.wakers.calls.wake()
        })
      this.#running.set(interaction.key, { peer: interaction.peer, done })
    }
  }

  #waiting(): Interaction[] {
    const { store, threads } = this.#ctx
    return store.all<{ key: number }>(WAITING_SQL).map(({ key }) => threads.byKey(key))
  }

  async #run(interaction: Interaction): Promise<void> {
    const { store } = this.#ctx
    const capability = interaction.capability ?? ''
    const provider = this.#modules.find(capability)
    if (provider === undefined || interaction.endBy === 'peer')
      return this.#answer(interaction, notServed(capability))
    remember(store, markOf(interaction), utf8(capability))
    const call = { capability, args: this.#argumentsOf(interaction), caller: interaction.peer }
    const effect = await this.#modules.run(provider, { ...call, signal: this.#lifetime.signal })
    // what a stop cut short is told at the next start, with the mark
    if (!this.#lifetime.signal.aborted) this.#answer(interaction, effect, provider.isPrivate === true)
  }

  #argumentsOf({ key }: Interaction): Readonly<Record<string, unknown>> {
    const { threads } = this.#ctx
    const [first] = threads.messages(key, 0, 1)
    if (first === undefined) return {}
    const message = threads.message(first.key)
    const decoded = decodePayload(message.kind, message.payload)
    if (decoded.kind !== kinds.delegate) return {}
    const document = parseRequestDocument(decoded.payload.document)
    return 'args' in document ? document.args : {}
  }

  /** Answers, unless the call was withdrawn meanwhile; whoever ended it before it was answered gets no answer. */
  #answer({ key }: Interaction, effect: Effect, isPrivate = false): void {
    const { store, threads } = this.#ctx
    store.transaction(() => {
      const interaction = threads.byKey(key)
      forget(store, markOf(interaction))
      if (interaction.numbered > 0) return
      if (interaction.state === 'open') answerWithEffect(this.#ctx, interaction, effect, isPrivate)
      else if (interaction.state === 'end_proposed') acceptEnd(this.#ctx, interaction)
    }, 'node.call')
  }
}
