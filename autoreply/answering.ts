/**
 * Answering by itself: which threads wait, one answer at a time, the limits, and what is never sent. The node hands in a
 * port and makes the rounds; an answer is tied to the turn it answers, so that a crash can't produce a second one.
 */
import { present } from '../protocol/encoding/present.ts'
import type { Answer, Backend, BackendRequest, MadeFile } from './backend.ts'
import { outgoing } from './outgoing.ts'

const HOUR_MS = 3_600_000
export const PEER_ANSWERS_PER_HOUR_MAX = 60
const ANSWERS_PER_HOUR_MAX = 600
const TRIES_MAX = 5
const RATE_PAUSE_MS = 60_000
const BACKOFF_FIRST_MS = 10_000
const USAGE_REPLY = 'This agent needs an image with the request. Send one as an attachment.'

export type WaitingThread = {
  interactionId: string
  peer: string
  /** Number of the peer's newest turn, the one to be answered. */
  turn: number
  /** Automatic answers already given in this interaction. */
  autoReplies: number
  /** The peer proposed to end. */
  endProposed: boolean
  hasImage: boolean
}

/** A run of the backend: for whom, when it began, and how long it took. */
export type Run = { peer: string; at: number; ms: number }

export type AutoReplyPort = {
  /** Threads that policy lets the loop answer and whose last word is the peer's; oldest first. */
  waiting(): Promise<readonly WaitingThread[]>
  /** Throws where the backend may answer nobody now, as another version of an agent that leaks. */
  requireSafe(signal: AbortSignal): Promise<void>
  request(thread: WaitingThread, historyMax: number): Promise<BackendRequest>
  /** Commits the one answer to `thread.turn`; false when it has one already. */
  answer(thread: WaitingThread, text: string, files?: readonly MadeFile[]): Promise<boolean>
  proposeEnd(thread: WaitingThread): Promise<void>
  acceptEnd(thread: WaitingThread): Promise<void>
  /** What must never leave in an answer: token and keys, and seeds as bytes. */
  secrets(): readonly (string | Uint8Array)[]
  /** Runs of the last hour that were kept, also by an earlier loop; each goes on counting. */
  readonly ranLately: readonly Run[]
  keepRuns(runs: readonly Run[]): void
  /** Whether something failed that no thread is to blame for, such as a full disk or an agent that leaks. */
  isOwnFailure(error: unknown): boolean
  /** Ids and short facts for events, log and evidence. */
  report(
    event: 'answered' | 'failed' | 'refused' | 'limited' | 'ended',
    thread: WaitingThread,
    detail: Record<string, string | number>,
  ): void
}

export type AnswerSettings = {
  backend: Backend
  historyMax: number
  timeoutMs: number
  autoRepliesMax: number
  requireImage: boolean
  usageHint: string | undefined
  errorReply: string | undefined
}

export type Answering = {
  /**
   * Serves what waits, one thread after another; ends early once `isStale` says that other threads may wait. Throws what no
   * thread is to blame for.
   */
  round(signal: AbortSignal, isStale: () => boolean): Promise<void>
}

export function answering(port: AutoReplyPort, settings: AnswerSettings, now: () => number): Answering {
  const rounds = new Rounds(port, settings, now)
  return { round: (signal, isStale) => rounds.round(signal, isStale) }
}

const turnKey = ({ interactionId, turn }: WaitingThread): string => `${interactionId}/${turn}`

class Rounds {
  readonly #port: AutoReplyPort
  readonly #settings: AnswerSettings
  readonly #now: () => number
  readonly #rates: Rates
  readonly #failures = new Map<string, { tries: number; notBefore: number }>()

  constructor(port: AutoReplyPort, settings: AnswerSettings, now: () => number) {
    this.#port = port
    this.#settings = settings
    this.#now = now
    this.#rates = new Rates(now, port)
  }

  async round(ended: AbortSignal, isStale: () => boolean): Promise<void> {
    // Whoever took the least time lately comes first, so that no peer's hanging tasks hold up the others.
    const left = [...(await this.#port.waiting())]
    while (left.length > 0 && !ended.aborted && !isStale()) {
      left.sort((a, b) => this.#rates.spentMs(a.peer) - this.#rates.spentMs(b.peer))
      await this.#attempt(left.shift() as WaitingThread, ended)
    }
  }

  #triesOf(thread: WaitingThread): number {
    return this.#failures.get(turnKey(thread))?.tries ?? 0
  }

  async #serve(thread: WaitingThread, ended: AbortSignal): Promise<void> {
    if (thread.endProposed) {
      await this.#port.acceptEnd(thread)
      this.#port.report('ended', thread, { why: 'accepted' })
    } else if (thread.autoReplies >= this.#settings.autoRepliesMax) {
      await this.#port.proposeEnd(thread)
      this.#port.report('ended', thread, { why: 'max_auto_replies' })
    } else if (this.#rates.hasRoom(thread.peer)) await this.#answer(thread, ended)
    else {
      this.#failures.set(turnKey(thread), {
        tries: this.#triesOf(thread),
        notBefore: this.#now() + RATE_PAUSE_MS,
      })
      this.#port.report('limited', thread, {})
    }
  }

  async #answer(thread: WaitingThread, ended: AbortSignal): Promise<void> {
    await this.#port.requireSafe(ended)
    const started = this.#now()
    const run = this.#rates.begin(thread.peer)
    const { text, cost, files = [] } = await this.#findAnswer(thread, ended).finally(() => run.end())
    if (await this.#port.answer(thread, text, files)) {
      this.#port.report('answered', thread, {
        backend: this.#settings.backend.name,
        ms: this.#now() - started,
        ...present({ cost }),
      })
    }
    this.#failures.delete(turnKey(thread))
  }

  async #findAnswer(thread: WaitingThread, ended: AbortSignal): Promise<Answer> {
    if (this.#settings.requireImage && !thread.hasImage)
      return { text: this.#settings.usageHint ?? USAGE_REPLY }
    const request = await this.#port.request(thread, this.#settings.historyMax)
    const signal = AbortSignal.any([ended, AbortSignal.timeout(this.#settings.timeoutMs)])
    const { text, cost, files } = await this.#settings.backend.reply(request, signal)
    const sent = outgoing(text, this.#port.secrets(), files)
    if (sent.isRefused) this.#port.report('refused', thread, { why: 'the answer held a secret of this node' })
    return { text: sent.text, ...present({ cost, files: sent.files && [...sent.files] }) }
  }

  /** After a failure: later again, and after the last try the owner's error text, if there is one. */
  async #putOff(thread: WaitingThread, error: Error, ms: number): Promise<void> {
    const tries = this.#triesOf(thread) + 1
    this.#failures.set(turnKey(thread), {
      tries,
      notBefore: this.#now() + BACKOFF_FIRST_MS * 2 ** (tries - 1),
    })
    this.#port.report('failed', thread, { tries, error: error.message, ms })
    if (tries >= TRIES_MAX) await this.#giveUp(thread)
  }

  /** The error text instead of an answer; one that cannot be kept now is sent later. */
  async #giveUp(thread: WaitingThread): Promise<void> {
    const given = { tries: TRIES_MAX, notBefore: Number.POSITIVE_INFINITY }
    try {
      if (this.#settings.errorReply !== undefined) await this.#port.answer(thread, this.#settings.errorReply)
    } catch (error) {
      given.notBefore = this.#now() + BACKOFF_FIRST_MS
      throw error
    } finally {
      this.#failures.set(turnKey(thread), given)
    }
  }

  /** What one thread throws, as one that was cancelled meanwhile, holds up no other. */
  async #attempt(thread: WaitingThread, ended: AbortSignal): Promise<void> {
    const failure = this.#failures.get(turnKey(thread))
    if (failure !== undefined && failure.notBefore > this.#now()) return
    if (this.#triesOf(thread) >= TRIES_MAX) return this.#giveUp(thread)
    const started = this.#now()
    try {
      await this.#serve(thread, ended)
    } catch (error) {
      if (this.#port.isOwnFailure(error)) throw error
      if (!ended.aborted) await this.#putOff(thread, error as Error, this.#now() - started)
    }
  }
}

/** Runs of the last hour and their time, for each peer and altogether; one that fails has cost as much. */
class Rates {
  readonly #now: () => number
  readonly #port: Pick<AutoReplyPort, 'keepRuns'>
  #runs: Run[]

  constructor(now: () => number, port: Pick<AutoReplyPort, 'ranLately' | 'keepRuns'>) {
    this.#now = now
    this.#port = port
    this.#runs = port.ranLately.map(run => ({ ...run }))
  }

  hasRoom(peer: string): boolean {
    const since = this.#now() - HOUR_MS
    this.#runs = this.#runs.filter(run => run.at > since)
    if (this.#runs.length >= ANSWERS_PER_HOUR_MAX) return false
    return this.#of(peer).length < PEER_ANSWERS_PER_HOUR_MAX
  }

  begin(peer: string): { end(): void } {
    const run = { peer, at: this.#now(), ms: 0 }
    this.#runs.push(run)
    // kept before it costs anything, so that neither a new setting nor a start begins the hour anew
    this.#port.keepRuns(this.#runs)
    return {
      end: () => {
        run.ms = this.#now() - run.at
        this.#port.keepRuns(this.#runs)
      },
    }
  }

  spentMs(peer: string): number {
    return this.#of(peer).reduce((sum, run) => sum + run.ms, 0)
  }

  #of(peer: string) {
    return this.#runs.filter(run => run.peer === peer)
  }
}
