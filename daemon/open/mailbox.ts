/**
 * Collecting open mail: polled, each letter read and judged in its order, then acked. This wire holds no poll and has no
 * confirmation of a delivery: its sender learns of it by the numbers of an answer.
 */
import type { Logger } from 'pino'
import { ForeignAnswer, Refused } from '../../protocol/contract/client.ts'
import { Malformed } from '../../protocol/encoding/bytes.ts'
import { Failure } from '../../protocol/encoding/errors.ts'
import { nextTurn, sleep, type Timers } from '../../protocol/timers.ts'
import type { Arrived, Collected, Collecting, Looked, Taker } from '../carrier/carrier.ts'
import { hubTime } from '../hubs/clocks.ts'
import type { HubClient } from '../hubs/hub.ts'
import type { OpenMail, PolledLetter } from '../hubs/open-mail.ts'
import { faultPoint } from '../platform/faults.ts'
import { count } from '../store/counters.ts'
import type { Store } from '../store/open.ts'
import type { Judging } from './judging.ts'
import { LeftLetters } from './left-letters.ts'
import { type ReadLetter, SenderUnknown } from './letters.ts'

/** Between two polls while nothing comes. */
const POLL_FIRST_MS = 300
const POLL_LAST_SHARE = 0.5
/** Polls of one drain: a hub that gives new letters without end is left for a moment, and what was seen of it forgotten. */
const POLLS_MAX = 100
/** Anybody can send what is no letter: the log has a line for so long, which counts those since the one before. */
const REFUSED_EACH_MS = 60_000

/** A hub that carries open mail. */
export type OpenHub = { hub: HubClient; mail: OpenMail }

/** `home`: the hub at which mail is waited for; nobody waits at one that was left. */
export type MailboxParts = {
  store: Store
  timers: Timers
  /** For so long a node that was moved or put back looks whether another copy of it takes its mail. */
  settledMs: number
  log: Logger
  /** The AID of this node, which may be made anew. */
  own: () => string
  home: () => HubClient | undefined
}

/** A letter is left at the hub, for what it answered about the sender. */
class Unread extends Failure {
  override name = 'Unread'
}
const isBadAnswer = (error: unknown): boolean => error instanceof ForeignAnswer || error instanceof Refused

/** What a node leaves in its own mailbox, to see whether another copy of it takes it. */
const LEFT = new Uint8Array(0)

export class OpenMailbox {
  readonly #parts: MailboxParts
  readonly #hub: HubClient
  readonly #mail: OpenMail
  readonly #judging: Judging
  readonly #left: LeftLetters
  #refused = 0
  #toldMs: number | undefined

  constructor(parts: MailboxParts, { hub, mail }: OpenHub, judging: Judging) {
    this.#parts = parts
    this.#hub = hub
    this.#mail = mail
    this.#judging = judging
    this.#left = new LeftLetters(() => hubTime(hub))
  }

  /** Works through one drain of the mailbox: polls until something comes, for as long as was asked, then until nothing is left. */
  async collect({ waitMs, signal }: Collecting, by: Taker): Promise<Collected> {
    const taken = new Set<string>()
    let letters = await this.#awaited(waitMs, signal)
    for (let polls = 0; polls < POLLS_MAX && letters.some(({ id }) => !taken.has(id)); polls++) {
      for (const id of await this.#takeAll(letters, by)) taken.add(id)
      // a hub that gives again what was acked ends the drain
      letters = await this.#polled(signal)
    }
    if (letters.length > 0) await sleep(this.#parts.timers, POLL_FIRST_MS, signal)
    return { taken: taken.size, held: true }
  }

  async #polled(signal: AbortSignal): Promise<PolledLetter[]> {
    return this.#left.due(await this.#mail.poll(signal))
  }

  /**
   * All of one answer, and those of them with which this node is done. One about whose sender the hub gives no good answer
   * stays there, and fails the drain after the others.
   */
  async #takeAll(letters: readonly PolledLetter[], by: Taker): Promise<string[]> {
    const done: string[] = []
    const failed: unknown[] = []
    for (const letter of letters) {
      try {
        if (await this.#take(letter, by)) done.push(letter.id)
      } catch (error) {
        if (!(error instanceof Unread)) throw error
        failed.push(error.cause)
      }
    }
    faultPoint('node.receive.before-ack')
    if (done.length > 0) await this.#mail.ack(done)
    faultPoint('node.receive.after-ack')
    if (failed.length > 0) throw failed[0]
    return done
  }

  async #awaited(waitMs: number, signal: AbortSignal): Promise<PolledLetter[]> {
    const { timers, home, settledMs } = this.#parts
    const lastMs = settledMs * POLL_LAST_SHARE
    const until = timers.monotonic() + waitMs
    for (let pause = POLL_FIRST_MS; ; pause = Math.min(pause * 1.5, lastMs)) {
      const letters = await this.#polled(signal)
      const left = until - timers.monotonic()
      if (letters.length > 0 || left <= 0 || home() !== this.#hub) return letters
      await sleep(timers, Math.min(pause, left), signal)
    }
  }

  /** This wire gives the same letters until they are acked, so one look is all; a further one looks whether somebody collects. */
  async look(
    { waitMs, signal, after }: Collecting & { after?: number | undefined },
    see: (arrived: Arrived) => void,
  ): Promise<Looked> {
    if (after !== undefined) {
      const isAlone = await this.#isAlone(waitMs, signal)
      const others = isAlone ? {} : { others: { older: false, newer: true } }
      return { taken: 0, held: true, more: false, after, ...others }
    }
    const letters = await this.#mail.poll(signal)
    for (const letter of letters) {
      const read = await this.#read(letter)
      if (read !== undefined && read !== 'left') see(this.#judging.arrived(read))
    }
    return { taken: letters.length, held: true, more: false, after: letters.length }
  }

  /** Whether nobody else collects this mailbox: what this node leaves in it is still there after a while. */
  async #isAlone(waitMs: number, signal: AbortSignal): Promise<boolean> {
    const own = this.#parts.own()
    const letter = { to: own, from: own, kind: 'message', interaction: '', payload: LEFT } as const
    const { id } = await this.#mail.send(letter, signal)
    await sleep(this.#parts.timers, waitMs, signal)
    return (await this.#mail.ack([id])) === 1
  }

  /** One letter; whatever is wrong with it, the next one is not held up. Whether this node is done with it. */
  async #take(letter: PolledLetter, by: Taker): Promise<boolean> {
    const read = await this.#read(letter).catch((error: unknown) => {
      throw isBadAnswer(error) ? new Unread('the hub tells nothing of a sender', { cause: error }) : error
    })
    if (read === 'left') return false
    if (read === undefined) return true
    await this.#judging.judge(read, letter.createdAtMs, by)
    // whoever follows this node hears of the message before the next one is read
    await nextTurn()
    return true
  }

  /** `left`: its key may be known later. Undefined for what is refused. */
  async #read(letter: PolledLetter): Promise<ReadLetter | 'left' | undefined> {
    const { store, own } = this.#parts
    if (letter.from === own() && letter.payload?.length === 0) return undefined
    try {
      return await this.#judging.read(letter)
    } catch (error) {
      if (!(error instanceof Malformed)) throw error
      const isUnknown = error instanceof SenderUnknown
      const left = isUnknown ? this.#left.leave(letter) : undefined
      if (left === 'first') count(store, 'sender_awaited')
      if (left !== undefined) return 'left'
      count(store, isUnknown ? 'sender_unknown' : 'malformed')
      this.#tellRefused(letter, error)
      return undefined
    }
  }

  #tellRefused({ id }: PolledLetter, { message: reason }: Malformed): void {
    const { log, timers } = this.#parts
    const nowMs = timers.monotonic()
    this.#refused += 1
    if (this.#toldMs !== undefined && nowMs - this.#toldMs < REFUSED_EACH_MS) return
    log.info({ id, reason, letters: this.#refused }, 'letter refused')
    this.#refused = 0
    this.#toldMs = nowMs
  }
}
