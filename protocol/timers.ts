/**
 * Timers, pauses and deadlines as something that is passed in: a program takes those of its machine, a test may take
 * its own, under which an hour passes at once. Nothing else in the hub and the node asks the runtime for them.
 */

/** A timer that was set; `unref` lets the process end although it is still to come. */
export type Timer = { unref(): Timer }

/** What sets timers. Times are milliseconds. */
export type Timers = {
  /** The time since some moment, which no change of the clock moves. */
  monotonic(): number
  /** Does it once, after so long. */
  after(ms: number, work: () => void): Timer
  /** Does it again and again. */
  every(ms: number, work: () => void): Timer
  /** Ends a timer, or nothing where none was set. */
  clear(timer: Timer | undefined): void
  /** A signal that aborts with a `TimeoutError` after so long, and keeps no process alive. */
  deadline(ms: number): AbortSignal
}

/** The runtime ends a longer timer at once; nobody waits for 25 days and minds a look before. */
const TIMER_MS_MAX = 2 ** 31 - 1

/** The timers of the machine. */
export const systemTimers: Timers = {
  monotonic: () => performance.now(),
  after: (ms, work) => setTimeout(work, Math.min(ms, TIMER_MS_MAX)),
  every: (ms, work) => setInterval(work, Math.min(ms, TIMER_MS_MAX)),
  // either kind is ended by either call
  clear: timer => clearTimeout(timer as NodeJS.Timeout | undefined),
  deadline: ms => AbortSignal.timeout(ms),
}

/** The clock of the machine, Unix milliseconds. */
export const systemNow = (): number => Date.now()

/** Waits so long; rejects with the reason of the signal once that aborts. */
export function sleep(timers: Timers, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(signal.reason)
    const onAbort = () => {
      timers.clear(timer)
      reject(signal?.reason)
    }
    const timer = timers.after(ms, () => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    })
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}

/** Waits for a turn, and no longer than its caller does; rejects with the reason of the signal once that aborts. */
export async function unlessAborted(turn: Promise<unknown>, signal: AbortSignal | undefined): Promise<void> {
  if (signal === undefined) {
    await turn
    return
  }
  signal.throwIfAborted()
  const { promise: given, reject } = Promise.withResolvers<never>()
  const giveUp = () => reject(signal.reason)
  signal.addEventListener('abort', giveUp)
  try {
    await Promise.race([turn, given])
  } finally {
    signal.removeEventListener('abort', giveUp)
  }
}

/** Waits until whatever else is ready had its turn; no clock is asked. */
export const nextTurn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

/** Does it once whatever else is ready had its turn. */
export const soon = (work: () => void): void => void setImmediate(work)
