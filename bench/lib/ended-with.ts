/** What a measurement starts ends with it, also where a signal ends that one first. */
import { constants } from 'node:os'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
const started = new Set<() => unknown>()

/** Has something ended where a signal comes; returns what is called once it has ended by itself. */
export function endedWith(end: () => unknown): () => void {
  if (started.size === 0)
    for (const signal of SIGNALS) if (process.listenerCount(signal) === 0) takeOver(signal)
  started.add(end)
  return () => void started.delete(end)
}

function takeOver(signal: (typeof SIGNALS)[number]): void {
  process.once(signal, async () => {
    // the measurement loses what it works with
    process.on('uncaughtException', () => undefined)
    // what was started last may need what was started before it
    for (const end of [...started].toReversed()) await Promise.try(end).catch(() => undefined)
    process.exit(128 + constants.signals[signal])
  })
}
