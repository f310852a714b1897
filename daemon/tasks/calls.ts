/**
 * Calls of capabilities that this node serves: each that may run is run once, and answered with its effect. A mark in the
 * store stands before a run, so that a call which a crash cut short is not made a second time.
 */
import { decodePayload, kinds } from '../../protocol/mail/payload.ts'
import { parseRequestDocument } from '../../protocol/proof/documents.ts'
import { buildEffect } from '../../protocol/proof/effect.ts'
import { type Quote, TASK } from '../../protocol/proof/quote.ts'
import type { Context } from '../context.ts'
import type { Modules } from '../modules/modules.ts'
import type { Provider } from '../modules/provider.ts'
import type { PaidAnswer, Payee } from '../payments/payee.ts'
import { notTakenEffect, quoteFor, whyNotTaken } from '../payments/price-check.ts'
import { dropPrice, openPrice } from '../payments/priced-tasks.ts'
import { Loop } from '../platform/loop.ts'
import { markCallBegun, uncertainInteractions, waitingCalls } from '../store/interactions.ts'
import { paymentOf } from '../store/payments.ts'
import { ANSWER_DEADLINE_MS, type Interaction } from '../store/threads.ts'
import { acceptEnd, type ConversationNeeds } from './conversation.ts'
import { answerWithEffect, notServed } from './dispatch.ts'

type Needs = ConversationNeeds & Pick<Context, 'hub' | 'log' | 'timers' | 'timings'>
/** Of the modules of this build, what running a call takes. */
type Serving = Pick<Modules, 'find' | 'priceOf' | 'startsOf' | 'run'>

const AT_ONCE_MAX = 8
const PER_PEER_MAX = 2
/** Whatever brings a call wakes this; it looks by itself for the sake of what nobody thought of. */
const LOOK_MS = 3_600_000
const RETRY_MS = 10_000
const STOPPED = 'the node stopped while this ran; whether it took effect is not known'

export class Calls {
  readonly #ctx: Needs
  readonly #modules: Serving
  readonly #payee: Payee | undefined
  /** Calls whose payment the hub has not judged yet. */
  readonly #resting = new Set<number>()
  /** Who called, by the task of the call that runs. */
  readonly #running = new Map<number, string>()
  /** Calls that ran when the node stopped. */
  readonly #cutShort = new Set<number>()
  readonly #loop: Loop

  constructor(ctx: Needs, modules: Serving, payee: Payee | undefined) {
    this.#ctx = ctx
    this.#modules = modules
    this.#payee = payee
    this.#loop = new Loop({
      name: 'calls',
      waker: ctx.wakers.calls,
      log: ctx.log,
      restFirstMs: ctx.timings.backoffFirstMs,
      mayRun: () => ctx.hub.oldCopy === undefined && !ctx.identity.log.deactivated,
      turn: () => this.#startDue(),
    })
  }

  start(): void {
    const { store } = this.#ctx
    for (const interaction of [...this.#waiting(), ...uncertainInteractions(store)])
      if (interaction.callBegun === 1) this.#cutShort.add(interaction.key)
    this.#sayCutShort()
    this.#loop.start()
  }

  /** What a stop cut short is told, once it is known that no copy which is lost has told it. */
  #sayCutShort(): void {
    if (this.#cutShort.size === 0) return
    for (const interaction of this.#waiting())
      if (this.#cutShort.delete(interaction.key)) this.#sayStopped(interaction)
  }

  /** Of what was paid for, the credits go back before it is told. */
  #sayStopped(interaction: Interaction): void {
    const answer = { effect: buildEffect({ status: 'FAILED', message: STOPPED }) }
    if (this.#payee?.keep(interaction, answer) === true)
      markCallBegun(this.#ctx.store, interaction.key, false)
    else this.#answer(interaction, answer)
  }

  /** Ends what runs; its callers are told at the next start. */
  async stop(): Promise<void> {
    await this.#loop.stop()
  }

  /** Starts everything that waits, also what rests, and waits for its end. */
  async look(): Promise<void> {
    this.#resting.clear()
    await this.#loop.once()
  }

  #startDue(): number {
    this.#sayCutShort()
    for (const interaction of this.#waiting()) {
      const ofPeer = [...this.#running.values()].filter(peer => peer === interaction.peer).length
      if (this.#running.size >= AT_ONCE_MAX) break
      if (this.#running.has(interaction.key) || this.#resting.has(interaction.key) || ofPeer >= PER_PEER_MAX)
        continue
      this.#running.set(interaction.key, interaction.peer)
      this.#loop.follow(this.#run(interaction).finally(() => this.#running.delete(interaction.key)))
    }
    return LOOK_MS
  }

  #waiting(): Interaction[] {
    return waitingCalls(this.#ctx.store)
  }

  async #run(interaction: Interaction): Promise<void> {
    const price = openPrice(this.#ctx.store, interaction)
    if (price !== undefined) return this.#runWords(interaction, price)
    const capability = interaction.capability ?? ''
    const provider = this.#modules.find(capability)
    const isPaidFor = paymentOf(this.#ctx.store, interaction.key) !== undefined
    if (!isPaidFor && (provider === undefined || interaction.endBy === 'peer'))
      return this.#answer(interaction, { effect: notServed(capability) })
    const amount = this.#modules.priceOf(capability)
    const work = () => this.#carryOut(interaction, provider)
    const answer =
      amount === undefined && !isPaidFor ? await work() : await this.#paid(interaction, amount, work)
    // what a stop cut short is told at the next start, with the mark
    if (answer !== undefined && !this.#loop.signal.aborted) this.#answer(interaction, answer)
  }

  /** A task in words is left to people and programs once its payment is held; until then its price is the answer. */
  async #runWords(interaction: Interaction, price: number): Promise<void> {
    const { store, threads, events } = this.#ctx
    const asked = this.#quote(interaction, interaction.capability ?? TASK, price, ANSWER_DEADLINE_MS / 1000)
    const held =
      'effect' in asked ? asked : asked.quote && (await this.#payee?.held(interaction, asked.quote))
    if (held === undefined) return this.#lookAgain(interaction)
    if (this.#loop.signal.aborted) return
    if ('effect' in held) return this.#answer(interaction, held)
    store.transaction(() => {
      const { id, state } = threads.update(threads.byKey(interaction.key), { autoReply: 1 })
      dropPrice(this.#ctx.store, interaction)
      store.afterCommit(() => events.emit('inbox', { interaction_id: id, peer: interaction.peer, state }))
    }, 'node.payment')
  }

  async #carryOut(interaction: Interaction, provider: Provider | undefined): Promise<PaidAnswer | undefined> {
    const { store } = this.#ctx
    const capability = interaction.capability ?? ''
    if (provider === undefined) return { effect: notServed(capability) }
    markCallBegun(store, interaction.key, true)
    const call = { capability, args: this.#argumentsOf(interaction), caller: interaction.peer }
    const effect = await this.#modules.run(provider, { ...call, signal: this.#loop.signal })
    return this.#loop.signal.aborted ? undefined : { effect, isPrivate: provider.isPrivate === true }
  }

  async #paid(
    interaction: Interaction,
    amount: number | undefined,
    work: () => Promise<PaidAnswer | undefined>,
  ): Promise<PaidAnswer | undefined> {
    const what = interaction.capability ?? ''
    const asked = this.#quote(interaction, what, amount, (this.#modules.find(what)?.timeoutMs ?? 0) / 1000)
    if ('effect' in asked) return asked
    const answer = asked.quote && (await this.#payee?.paid(interaction, asked.quote, work))
    if (answer === undefined) this.#lookAgain(interaction)
    return answer
  }

  /** What is asked for work of so many seconds, where there is a hub; what is answered where nothing can be paid. */
  #quote(
    interaction: Interaction,
    what: string,
    amount: number | undefined,
    seconds: number,
  ): PaidAnswer | { quote: Quote | undefined } {
    const { home } = this.#ctx.hub
    if (this.#payee === undefined) {
      const message = `${what} costs ${amount ?? 0} credits, and this build has no payment support`
      return { effect: buildEffect({ status: 'UNAVAILABLE', message }) }
    }
    if (home === undefined) return { quote: undefined }
    const provider = this.#ctx.identity.aid
    const paid = paymentOf(this.#ctx.store, interaction.key)
    const why = paid === undefined ? whyNotTaken(this.#ctx.store, home.identity.aid) : undefined
    if (why !== undefined) return { effect: notTakenEffect(why) }
    const starts = paid === undefined ? this.#modules.startsOf(what) : (paid.starts ?? undefined)
    const terms = { what, amount: paid?.amount ?? amount ?? 1, seconds, starts }
    return { quote: quoteFor({ provider, hub: home.identity.aid, ...terms }) }
  }

  /** The hub has not said yet whether a call is paid. */
  #lookAgain({ key }: Interaction): void {
    this.#resting.add(key)
    const { timers, wakers } = this.#ctx
    const again = () => {
      this.#resting.delete(key)
      wakers.calls.wake()
    }
    timers.after(RETRY_MS, again).unref()
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
  #answer({ key }: Interaction, { effect, ...parts }: PaidAnswer): void {
    const { store, threads } = this.#ctx
    store.transaction(() => {
      const interaction = threads.byKey(key)
      markCallBegun(store, key, false)
      dropPrice(this.#ctx.store, interaction)
      if (interaction.numbered > 0) return
      if (interaction.state === 'open') answerWithEffect(this.#ctx, interaction, effect, parts)
      else if (interaction.state === 'end_proposed') acceptEnd(this.#ctx, interaction)
    }, 'node.call')
  }
}
