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
  const rates = new Rates(now, port)
  const failures = new Map<string, { tries: number; notBefore: number }>()
  const turnKey = (thread: WaitingThread) => `${thread.interactionId}/${thread.turn}`
  const triesOf = (thread: WaitingThread) => failures.get(turnKey(thread))?.tries ?? 0

  async function serve(thread: WaitingThread, ended: AbortSignal): Promise<void> {
    if (thread.endProposed) {
      await port.acceptEnd(thread)
      port.report('ended', thread, { why: 'accepted' })
    } else if (thread.autoReplies >= settings.autoRepliesMax) {
      await port.proposeEnd(thread)
      port.report('ended', thread, { why: 'max_auto_replies' })
    } else if (rates.hasRoom(thread.peer)) await answer(thread, ended)
    else {
      failures.set(turnKey(thread), { tries: triesOf(thread), notBefore: now() + RATE_PAUSE_MS })
      port.report('limited', thread, {})
    }
  }

  async function answer(thread: WaitingThread, ended: AbortSignal): Promise<void> {
    await port.requireSafe(ended)
    const started = now()
    const run = rates.begin(thread.peer)
    const { text, cost, files = [] } = await findAnswer(thread, ended).finally(() => run.end())
    if (await port.answer(thread, text, files)) {
      port.report('answered', thread, {
        backend: settings.backend.name,
        ms: now() - started,
        ...present({ cost }),
      })
    }
    failures.delete(turnKey(thread))
  }

  async function findAnswer(thread: WaitingThread, ended: AbortSignal): Promise<Answer> {
    if (settings.requireImage && !thread.hasImage) return { text: settings.usageHint ?? USAGE_REPLY }
    const request = await port.request(thread, settings.historyMax)
    const signal = AbortSignal.any([ended, AbortSignal.timeout(settings.timeoutMs)])
    const { text, cost, files } = await settings.backend.reply(request, signal)
    const sent = outgoing(text, port.secrets(), files)
    if (sent.isRefused) port.report('refused', thread, { why: 'the answer held a secret of this node' })
    return { text: sent.text, ...present({ cost, files: sent.files && [...sent.files] }) }
  }

  /** After a failure: later again, and after the last try the owner's error text, if there is one. */
  async function putOff(thread: WaitingThread, error: Error, ms: number): Promise<void> {
    const tries = triesOf(thread) + 1
    failures.set(turnKey(thread), { tries, notBefore: now() + BACKOFF_FIRST_MS * 2 ** (tries - 1) })
    port.report('failed', thread, { tries, error: error.message, ms })
    if (tries >= TRIES_MAX) await giveUp(thread)
  }

  /** The error text instead of an answer; one that cannot be kept now is sent later. */
  async function giveUp(thread: WaitingThread): Promise<void> {
    const given = { tries: TRIES_MAX, notBefore: Number.POSITIVE_INFINITY }
    try {
      if (settings.errorReply !== undefined) await port.answer(thread, settings.errorReply)
    } catch (error) {
      given.notBefore = now() + BACKOFF_FIRST_MS
      throw error
    } finally {
      failures.set(turnKey(thread), given)
    }
  }

  /** What one thread throws, as one that was cancelled meanwhile, holds up no other. */
  async function attempt(thread: WaitingThread, ended: AbortSignal): Promise<void> {
    const failure = failures.get(turnKey(thread))
    if (failure !== undefined && failure.notBefore > now()) return
    if (triesOf(thread) >= TRIES_MAX) return giveUp(thread)
    const started = now()
    try {
      await serve(thread, ended)
    } catch (error) {
      if (port.isOwnFailure(error)) throw error
      if (!ended.aborted) await putOff(thread, error as Error, now() - started)
    }
  }

  async function round(ended: AbortSignal, isStale: () => boolean): Promise<void> {
    // Whoever took the least time lately comes first, so that no peer's hanging tasks hold up the others.
    const left = [...(await port.waiting())]
    while (left.length > 0 && !ended.aborted && !isStale()) {
      left.sort((a, b) => rates.spentMs(a.peer) - rates.spentMs(b.peer))
      await attempt(left.shift() as WaitingThread, ended)
    }
  }

  return { round }
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
