/**
 * Calls of capabilities that this node serves: each that may run is run once, and answered with its effect. A mark in the
 * store stands before a run, so that a call which a crash cut short is not made a second time.
 */
import { buildEffect } from '../../protocol/proof/effect.ts'
import type { Timers } from '../../protocol/timers.ts'
import { openPrice } from '../payments/priced-tasks.ts'
import { Loop } from '../platform/loop.ts'
import type { Machine } from '../platform/machine.ts'
import type { Waker } from '../platform/waker.ts'
import { markCallBegun, uncertainInteractions, waitingCalls } from '../store/interactions.ts'
import type { Store } from '../store/open.ts'
import type { Interaction } from '../store/threads.ts'
import type { CallPayments } from './call-payments.ts'
import type { CallResults } from './call-results.ts'
import type { CallWork, Serving } from './call-work.ts'
import { notServed } from './dispatch.ts'

const AT_ONCE_MAX = 8
const PER_PEER_MAX = 2
/** Whatever brings a call wakes this; it looks by itself for the sake of what nobody thought of. */
const LOOK_MS = 3_600_000
const RETRY_MS = 10_000
const STOPPED = 'the node stopped while this ran; whether it took effect is not known'

type CallParts = {
  store: Store
  modules: Serving
  payments: CallPayments
  work: CallWork
  results: CallResults
}

/** When calls are looked at, and whether they may be run. */
type CallPace = { machine: Machine; waker: Waker; restFirstMs: number; mayRun: () => boolean }

export class Calls {
  readonly #parts: CallParts
  readonly #timers: Timers
  readonly #waker: Waker
  /** Calls whose payment the hub has not judged yet. */
  readonly #resting = new Set<number>()
  /** Who called, by the task of the call that runs. */
  readonly #running = new Map<number, string>()
  /** Calls that ran when the node stopped. */
  readonly #cutShort = new Set<number>()
  readonly #loop: Loop

  constructor(parts: CallParts, { machine, waker, restFirstMs, mayRun }: CallPace) {
    this.#parts = parts
    this.#timers = machine.timers
    this.#waker = waker
    const { log } = machine
    this.#loop = new Loop({ name: 'calls', waker, log, restFirstMs, mayRun, turn: () => this.#startDue() })
  }

  start(): void {
    for (const interaction of [...this.#waiting(), ...uncertainInteractions(this.#parts.store)])
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
    const { store, payments, results } = this.#parts
    const answer = { effect: buildEffect({ status: 'FAILED', message: STOPPED }) }
    if (payments.keep(interaction, answer)) markCallBegun(store, interaction.key, false)
    else results.answer(interaction, answer)
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
    return waitingCalls(this.#parts.store)
  }

  async #run(interaction: Interaction): Promise<void> {
    const { store, modules, payments, work, results } = this.#parts
    const price = openPrice(store, interaction)
    if (price !== undefined) return this.#runWords(interaction, price)
    const capability = interaction.capability ?? ''
    const provider = modules.find(capability)
    const isPaidFor = payments.isPaidFor(interaction)
    if (!isPaidFor && (provider === undefined || interaction.endBy === 'peer'))
      return results.answer(interaction, { effect: notServed(capability) })
    const amount = modules.priceOf(capability)
    const { signal } = this.#loop
    const carryOut = () => work.carryOut(interaction, provider, signal)
    const isFree = amount === undefined && !isPaidFor
    const answer = isFree ? await carryOut() : await payments.paid(interaction, amount, carryOut)
    if (answer === undefined && !isFree) this.#lookAgain(interaction)
    // what a stop cut short is told at the next start, with the mark
    if (answer !== undefined && !signal.aborted) results.answer(interaction, answer)
  }

  /** A task in words is answered by its price until its payment is held. */
  async #runWords(interaction: Interaction, price: number): Promise<void> {
    const { payments, results } = this.#parts
    const held = await payments.heldForWords(interaction, price)
    if (held === undefined) return this.#lookAgain(interaction)
    if (this.#loop.signal.aborted) return
    if (held === 'held') results.leaveToWords(interaction)
    else results.answer(interaction, held)
  }

  /** The hub has not said yet whether a call is paid. */
  #lookAgain({ key }: Interaction): void {
    this.#resting.add(key)
    const again = () => {
      this.#resting.delete(key)
      this.#waker.wake()
    }
    this.#timers.after(RETRY_MS, again).unref()
  }
}
