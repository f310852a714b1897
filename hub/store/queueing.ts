/** What keeps an envelope out of a mailbox, judged by its counters; engines ask the same in their own ways. */
import type { Enqueue, EnqueueOutcome } from './port.ts'

const DAY_MS = 86_400_000

export type MailboxCounters = {
  envelopes: number
  bytes: number
  stranger_envelopes: number
  stranger_bytes: number
}

/** When it was first queued of those times that count together, how often since, and the id under which it waits or 0. */
export type Seen = { since_ms: number; times: number; waiting: number }

/** Which limit an item would pass. */
export function limitReached(
  { limits, size, nowMs, stranger }: Enqueue,
  box: MailboxCounters,
  repeat: Seen | undefined,
): EnqueueOutcome | undefined {
  if (repeat !== undefined && withinDay(repeat, nowMs) && repeat.times >= limits.timesPerDayMax)
    return { outcome: 'queuedTooOften' }
  if (box.envelopes >= limits.envelopesMax || box.bytes + size > limits.bytesMax)
    return { outcome: 'mailboxFull' }
  const { strangerEnvelopesMax, strangerBytesMax } = limits
  const isFull =
    box.stranger_envelopes >= strangerEnvelopesMax || box.stranger_bytes + size > strangerBytesMax
  return stranger && isFull ? { outcome: 'strangersFull' } : undefined
}

/** What is known of a digest once its envelope waits under an id. */
export function seenAgain(repeat: Seen | undefined, nowMs: number, id: number): Seen {
  if (repeat === undefined || !withinDay(repeat, nowMs)) return { since_ms: nowMs, times: 1, waiting: id }
  return { ...repeat, times: repeat.times + 1, waiting: id }
}

/** A digest that was already counted on this UTC day is no further use of its capability. */
export const usesCount = ({ nowMs }: Enqueue, repeat: Seen | undefined): boolean =>
  repeat === undefined || dayOf(repeat.since_ms) !== dayOf(nowMs)

const withinDay = (repeat: Seen, nowMs: number): boolean => nowMs - repeat.since_ms < DAY_MS
export const dayOf = (ms: number): number => Math.floor(ms / DAY_MS)

/** How many waiting envelopes one answer takes: at least the first one, and at most `bytesMax` of them. */
export function fitting(
  sizes: readonly number[],
  { limit, bytesMax }: { limit: number; bytesMax: number },
): number {
  let bytes = 0
  const over = sizes.findIndex((size, index) => {
    bytes += size
    return index === limit || (index > 0 && bytes > bytesMax)
  })
  return over < 0 ? sizes.length : over
}
