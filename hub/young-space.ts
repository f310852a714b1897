/**
 * Keeping memory small: under load V8 lets the young generation grow to 48 MiB and keeps it. A hub's objects live for one
 * request, so a few MiB serve as well; the engine has no setting for a running process, but it asks for the growth factor
 * each time that it grows.
 */
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'

const YOUNG_BYTES_MAX = 8 * 1024 * 1024
const CHECK_EVERY_MS = 200

/** Ends the growth of the young generation once it is large enough. */
export function keepYoungSpaceSmall(): void {
  const timer = setInterval(() => {
    const young = getHeapSpaceStatistics().find(space => space.space_name === 'new_space')
    if (young !== undefined && young.space_size < YOUNG_BYTES_MAX) return
    setFlagsFromString('--semi-space-growth-factor=1')
    clearInterval(timer)
  }, CHECK_EVERY_MS)
  timer.unref()
}
