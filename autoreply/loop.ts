/**
 * The auto-reply loop: which threads wait, one answer at a time, the limits, and what is never sent. The node hands in
 * a port; an answer is tied to the turn it answers, so that a crash can't produce a second one.
 */
import { plainText } from '../protocol/plain-text.ts'
import { ANSWER_CHARACTERS_MAX, type Backend, type BackendRequest } from './backend.ts'

const HOUR_MS = 3_600_000
const PEER_ANSWERS_PER_HOUR_MAX = 60
const ANSWERS_PER_HOUR_MAX = 600
const TRIES_MAX = 5
const BACKOFF_FIRST_MS = 10_000
const BACKOFF_MAX_MS = 10 * 60_000
const REFUSED_REPLY = 'I can not answer this request.'
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

export type AutoReplyPort = {
  /** Threads that policy lets the loop answer and whose last word is the peer's; oldest first. */
  waiting(): Promise<readonly WaitingThread[]>
  request(thread: WaitingThread, historyMax: number): Promise<BackendRequest>
  /** Commits the one answer to `thread.turn`; false when it has one already. */
  answer(thread: WaitingThread, text: string): Promise<boolean>
  proposeEnd(thread: WaitingThread): Promise<void>
  acceptEnd(thread: WaitingThread): Promise<void>
  /** What must never leave in an answer: token, keys, seeds in every text form. */
  secrets(): readonly string[]
  /** Ids and short facts for events, log and evidence. */
  report(
    event: 'answered' | 'failed' | 'refused' | 'limited' | 'ended',
    thread: WaitingThread,
    detail: Record<string, string | number>,
  ): void
}

export type LoopSettings = {
  backend: Backend
  pollIntervalMs: number
  historyMax: number
  timeoutMs: number
  autoRepliesMax: number
  requireImage: boolean
  usageHint: string | undefined
  errorReply: string | undefined
}

export type Loop = AsyncDisposable & {
  /** Looks now instead of at the next interval. */
  wake(): void
}

/** Starts the loop; disposing it ends a running answer and waits for it. */
export function startLoop(port: AutoReplyPort, settings: LoopSettings, now: () => number): Loop {
  const rates = new Rates(now)
  const failures = new Map<string, { tries: number; notBefore: number }>()
  const stopped = new AbortController()
  let wake = () => {}
  const pause = () =>
    new Promise<void>(resolve => {
      const timer = setTimeout(resolve, settings.pollIntervalMs)
      wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  const turnKey = (thread: WaitingThread) => `${thread.interactionId}/${thread.turn}`

  async function serve(thread: WaitingThread): Promise<void> {
    if (thread.endProposed) {
      await port.acceptEnd(thread)
      port.report('ended', thread, { why: 'accepted' })
    } else if (thread.autoReplies >= settings.autoRepliesMax) {
      await port.proposeEnd(thread)
      port.report('ended', thread, { why: 'max_auto_replies' })
    } else if (!rates.take(thread.peer)) port.report('limited', thread, {})
    else await answer(thread)
  }

  async function answer(thread: WaitingThread): Promise<void> {
    const started = now()
    try {
      const text = await findAnswer(thread)
      if (await port.answer(thread, text)) {
        port.report('answered', thread, { backend: settings.backend.name, ms: now() - started })
      }
      failures.delete(turnKey(thread))
    } catch (error) {
      if (stopped.signal.aborted) throw error
      await giveWay(thread, error as Error)
    }
  }

  async function findAnswer(thread: WaitingThread): Promise<string> {
    if (settings.requireImage && !thread.hasImage) return settings.usageHint ?? USAGE_REPLY
    const request = await port.request(thread, settings.historyMax)
    const signal = AbortSignal.any([stopped.signal, AbortSignal.timeout(settings.timeoutMs)])
    const { text } = await settings.backend.reply(request, signal)
    const safe = plainText(text).slice(0, ANSWER_CHARACTERS_MAX)
    const secret = port.secrets().some(value => value !== '' && text.includes(value))
    if (!secret) return safe
    port.report('refused', thread, { why: 'the answer held a secret of this node' })
    return REFUSED_REPLY
  }

  /** After a failure: later again, and after the last try the owner's error text, if there is one. */
  async function giveWay(thread: WaitingThread, error: Error): Promise<void> {
    const tries = (failures.get(turnKey(thread))?.tries ?? 0) + 1
    const wait = Math.min(BACKOFF_MAX_MS, BACKOFF_FIRST_MS * 2 ** (tries - 1))
    failures.set(turnKey(thread), {
      tries,
      notBefore: tries >= TRIES_MAX ? Number.POSITIVE_INFINITY : now() + wait,
    })
    port.report('failed', thread, { tries, error: error.message })
    if (settings.errorReply !== undefined) await port.answer(thread, settings.errorReply)
  }

  async function loop(): Promise<void> {
    while (!stopped.signal.aborted) {
      for (const thread of await port.waiting()) {
        if (stopped.signal.aborted) return
        if ((failures.get(turnKey(thread))?.notBefore ?? 0) > now()) continue
        await serve(thread)
      }
      if (!stopped.signal.aborted) await pause()
    }
  }

  const done = loop().catch(error => {
    if (!stopped.signal.aborted) throw error
  })
  return {
    wake: () => wake(),
    async [Symbol.asyncDispose]() {
      stopped.abort()
      wake()
      await done
    },
  }
}

/** Answers an hour, for each peer and altogether. */
class Rates {
  readonly #now: () => number
  #times: { peer: string; at: number }[] = []

  constructor(now: () => number) {
    this.#now = now
  }

  take(peer: string): boolean {
    const since = this.#now() - HOUR_MS
    this.#times = this.#times.filter(time => time.at > since)
    if (this.#times.length >= ANSWERS_PER_HOUR_MAX) return false
    if (this.#times.filter(time => time.peer === peer).length >= PEER_ANSWERS_PER_HOUR_MAX) return false
    this.#times.push({ peer, at: this.#now() })
    return true
  }
}
