/**
 * Buffers that stream through ciphers lie outside V8's heap and are freed only when it collects; left to itself it
 * lets 64 MiB of them pile up. A minor collection every few MiB keeps a large attachment within a few MiB.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const COLLECT_EVERY_BYTES = 4 * 1024 * 1024

const STARTED_AFTER_MS = 2_000

type Collect = (options: { type: 'minor' } | { type: 'major'; flavor: 'last-resort' }) => void
let passed = 0
let collect: Collect | undefined

/** Counts streamed bytes and collects young garbage from time to time. */
export function noteStreamed(bytes: number): void {
  passed += bytes
  if (passed < COLLECT_EVERY_BYTES) return
  passed = 0
  collect ??= exposeCollector()
  collect({ type: 'minor' })
}

/** Gives back, once, what only the start of a node needed. */
export function collectAfterStart(): void {
  setTimeout(() => {
    collect ??= exposeCollector()
    collect({ type: 'major', flavor: 'last-resort' })
  }, STARTED_AFTER_MS).unref()
}

function exposeCollector(): Collect {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as Collect
  setFlagsFromString('--no-expose-gc')
  return gc
}
