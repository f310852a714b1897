/**
 * Buffers that stream through ciphers lie outside V8's heap and are freed only when it collects; left to itself it
 * lets 64 MiB of them pile up. A minor collection every few MiB keeps a large attachment within a few MiB. And what a
 * node needed for its start or for a task V8 keeps until it needs the room; a quiet node gives it back.
 */
import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const COLLECT_EVERY_BYTES = 4 * 1024 * 1024

const LOOK_EVERY_MS = 2_000
/** Processor time between two looks below which a node is quiet. */
const QUIET_MS = 100
const WORTH_BYTES = 1024 * 1024

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

/** Gives back, each time that the process has become quiet, what the work before has left. */
export function collectWhenQuiet(): void {
  let kept = 0
  let spent = process.cpuUsage()
  setInterval(() => {
    const { user, system } = process.cpuUsage(spent)
    spent = process.cpuUsage()
    const isQuiet = (user + system) / 1000 < QUIET_MS
    if (!isQuiet || heldBytes() < kept + WORTH_BYTES) return
    collect ??= exposeCollector()
    collect({ type: 'major', flavor: 'last-resort' })
    kept = heldBytes()
  }, LOOK_EVERY_MS).unref()
}

function heldBytes(): number {
  const { used_heap_size: heap, external_memory: external } = getHeapStatistics()
  return heap + external
}

function exposeCollector(): Collect {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as Collect
  setFlagsFromString('--no-expose-gc')
  return gc
}
