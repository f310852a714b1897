/**
 * Keeping memory small. Under load V8 lets the young generation grow to 48 MiB and keeps it, and the old one to several
 * times of what lives in it; a hub's objects live for one request, so less serves as well. The engine has no setting for
 * the former in a running process, but it asks for the growth factors each time that it grows. What the start or a load
 * needed the engine and the C library keep until they need the room; a thread that has become quiet gives it back.
 */
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Timers } from '../protocol/timers.ts'

const YOUNG_BYTES = 3 * 1024 * 1024
const CHECK_EVERY_MS = 20
/** How much more than what lives the old generation may hold before it is collected, in percent. */
const OLD_GROWTH_PERCENT = 20
const LOOK_EVERY_MS = 2000
/** Processor time of a thread between two looks below which it is quiet. */
const QUIET_MS = 100
/** So much work leaves something that is worth a collection. */
const WORTH_MS = 200

type Collect = (options: { type: 'major'; flavor: 'last-resort' }) => void

/** Lets the young generation grow up to its size and no further, and gives back what is not needed any more. */
export function keepMemorySmall(timers: Timers, release: () => void): void {
  setFlagsFromString(`--heap-growing-percent=${OLD_GROWTH_PERCENT}`)
  collectWhenQuiet(timers, release)
  let mayGrow = true
  // a quiet engine makes it small again, from where it has to grow once more
  const check = () => {
    const young = getHeapSpaceStatistics().find(space => space.space_name === 'new_space')
    const isSmall = young === undefined || young.space_size < YOUNG_BYTES
    if (isSmall !== mayGrow) setFlagsFromString(`--semi-space-growth-factor=${isSmall ? 2 : 1}`)
    mayGrow = isSmall
  }
  timers.every(CHECK_EVERY_MS, check).unref()
}

/** Collects each time that this thread has become quiet after work; `release` lets go of what can be had again. */
export function collectWhenQuiet(timers: Timers, release: () => void = () => undefined): void {
  const collect = exposeCollector()
  let trim: (() => void) | undefined
  let isStarting = true
  let workedMs = 0
  let spent = process.threadCpuUsage()
  const look = () => {
    const { user, system } = process.threadCpuUsage(spent)
    spent = process.threadCpuUsage()
    const spentMs = (user + system) / 1000
    if (spentMs >= QUIET_MS) workedMs += spentMs
    else if (isStarting || workedMs >= WORTH_MS) {
      release()
      collect?.({ type: 'major', flavor: 'last-resort' })
      // a start leaves less there than it takes to find the call
      if (!isStarting) trim ??= findTrim()
      trim?.()
      isStarting = false
      workedMs = 0
    }
  }
  timers.every(LOOK_EVERY_MS, look).unref()
}

function exposeCollector(): Collect | undefined {
  setFlagsFromString('--expose-gc')
  const found = runInNewContext('globalThis.gc') as Collect | undefined
  setFlagsFromString('--no-expose-gc')
  return found
}

/**
 * What the C library holds free between its small pieces, as thousands of connections leave it, goes back by one call of
 * its own. Where the runtime or the library has no such call nothing is done.
 */
function findTrim(): () => void {
  const { emitWarning } = process
  // the module that calls it warns that its own interface may change
  process.emitWarning = () => undefined
  try {
    const { dlopen } = process.getBuiltinModule('node:ffi')
    const { functions } = dlopen(null, { malloc_trim: { arguments: ['u64'], return: 'i32' } })
    return () => void functions.malloc_trim(0n)
  } catch {
    return () => undefined
  } finally {
    process.emitWarning = emitWarning
  }
}
