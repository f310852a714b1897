/**
 * Files of mail that no row names, as a process leaves them that was killed before it wrote the row. A start takes the old
 * ones; the others are seen here twice, an hour apart, whatever any clock says.
 */
import type { Timers } from '../../protocol/timers.ts'
import type { Blobs } from '../store/blob-port.ts'
import type { HubContext } from './context.ts'
import { HOUR_MS } from './limits.ts'

type Kept = {
  blobs: Pick<Blobs, 'names' | 'remove'>
  /** Which of these names no row has. */
  unused: (names: string[]) => Promise<string[]>
}

/** Removes those of before this start, and gives what looks for others from then on. */
export async function collectOrphans({
  blobs,
  openBlobs,
  store,
  now,
  timers,
}: HubContext): Promise<Orphans[]> {
  const places = [
    { blobs, unused: (names: string[]) => store.unusedFiles(names) },
    { blobs: openBlobs, unused: (names: string[]) => store.unusedOpenFiles(names) },
  ]
  for (const place of places) await place.blobs.collect(now(), place.unused)
  return places.map(place => new Orphans(place, timers))
}

export class Orphans {
  readonly #kept: Kept
  readonly #timers: Timers
  #seen: ReadonlySet<string> = new Set()
  #lookedMs: number

  constructor(kept: Kept, timers: Timers) {
    this.#kept = kept
    this.#timers = timers
    this.#lookedMs = timers.monotonic()
  }

  /** Once an hour: removes what no row named at the last look either. */
  async sweep(): Promise<boolean> {
    const nowMs = this.#timers.monotonic()
    if (nowMs - this.#lookedMs < HOUR_MS) return false
    this.#lookedMs = nowMs
    const { blobs, unused } = this.#kept
    const seen = new Set<string>()
    for await (const names of blobs.names()) {
      const unnamed = await unused(names)
      await blobs.remove(unnamed.filter(name => this.#seen.has(name)))
      for (const name of unnamed) seen.add(name)
    }
    this.#seen = seen
    return false
  }
}
