/**
 * Keeping memory small. Under load V8 lets the young generation grow to 48 MiB and keeps it, and the old one to several
 * times of what lives in it; a hub's objects live for one request, so less serves as well. The engine has no setting for
 * the former in a running process, but it asks for the growth factors each time that it grows. What only the start
 * needed is given back once.
 */
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const YOUNG_BYTES = 3 * 1024 * 1024
const CHECK_EVERY_MS = 20
/** How much more than what lives the old generation may hold before it is collected, in percent. */
const OLD_GROWTH_PERCENT = 20
const STARTED_AFTER_MS = 1000
/** A thread collects after the main thread did: both turn the same setting of the process on and off. */
const THREAD_STARTED_AFTER_MS = 2000

type Collect = (options: { type: 'major'; flavor: 'last-resort' }) => void

/** Lets the young generation grow up to its size and no further, and collects once when the start is over. */
export function keepMemorySmall(): void {
  setFlagsFromString(`--heap-growing-percent=${OLD_GROWTH_PERCENT}`)
  setTimeout(collect, STARTED_AFTER_MS).unref()
  let mayGrow = true
  // a quiet engine makes it small again, from where it has to grow once more
  setInterval(() => {
    const young = getHeapSpaceStatistics().find(space => space.space_name === 'new_space')
    const isSmall = young === undefined || young.space_size < YOUNG_BYTES
    if (isSmall !== mayGrow) setFlagsFromString(`--semi-space-growth-factor=${isSmall ? 2 : 1}`)
    mayGrow = isSmall
  }, CHECK_EVERY_MS).unref()
}

/** Collects once when the start of a thread is over; memory that only the start needed goes back. */
export function collectAfterStart(): void {
  setTimeout(collect, THREAD_STARTED_AFTER_MS).unref()
}

function collect(): void {
  setFlagsFromString('--expose-gc')
  const found = runInNewContext('globalThis.gc') as Collect | undefined
  setFlagsFromString('--no-expose-gc')
  found?.({ type: 'major', flavor: 'last-resort' })
}
