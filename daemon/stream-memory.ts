/**
 * Buffers that stream through ciphers lie outside V8's heap and are freed only when it collects; left to itself it
 * lets 64 MiB of them pile up. A minor collection every few MiB keeps a large attachment within a few MiB.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const COLLECT_EVERY_BYTES = 8 * 1024 * 1024

let passed = 0
let collect: ((options: { type: 'minor' }) => void) | undefined

/** Counts streamed bytes and collects young garbage from time to time. */
export function noteStreamed(bytes: number): void {
  passed += bytes
  if (passed < COLLECT_EVERY_BYTES) return
  passed = 0
  collect ??= exposeCollector()
  collect({ type: 'minor' })
}

function exposeCollector(): (options: { type: 'minor' }) => void {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as (options: { type: 'minor' }) => void
  setFlagsFromString('--no-expose-gc')
  return gc
}
