/**
 * Buffers that stream through ciphers lie outside V8's heap and are freed only when it collects; left to itself it
 * lets 64 MiB of them pile up. A minor collection every few MiB keeps a large attachment within a few MiB. And what a
 * node needed for its start or for a task V8 keeps until it needs the room; a quiet node gives it back.
 */
import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Timers } from '../../protocol/timers.ts'

const COLLECT_EVERY_BYTES = 2 * 1024 * 1024

const LOOK_EVERY_MS = 2_000
/** Processor time between two looks below which a node is quiet. */
const QUIET_MS = 100
const WORTH_BYTES = 1024 * 1024
/** So long after its last use V8 keeps the code of a function; then a collection lets go of it. */
const CODE_KEPT_MS = 30_000

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

/**
 * Gives back, each time that the process has become quiet, what the work before has left; `release` lets go of what can
 * be had again.
 */
export function collectWhenQuiet(timers: Timers, release: () => void): void {
  let kept = 0
  let spent = process.cpuUsage()
  let hasCodeToDrop = false
  let collectedAt = 0
  const look = () => {
    const { user, system } = process.cpuUsage(spent)
    spent = process.cpuUsage()
    const isQuiet = (user + system) / 1000 < QUIET_MS
    const isWorth = heldBytes() >= kept + WORTH_BYTES
    const isCodeOld = hasCodeToDrop && timers.monotonic() > collectedAt + CODE_KEPT_MS
    if (!isQuiet || !(isWorth || isCodeOld)) return
    collect ??= exposeCollector()
    release()
    collect({ type: 'major', flavor: 'last-resort' })
    hasCodeToDrop = isWorth
    collectedAt = timers.monotonic()
    kept = heldBytes()
  }
  timers.every(LOOK_EVERY_MS, look).unref()
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
