/** One page of a bucket out of the pages of several hubs, so that the next page goes on where this one ends. */
import { compare, equal } from '../../../protocol/encoding/bytes.ts'
import type { DirectoryEntry } from '../../store/port.ts'
import { BUCKET_BYTES_MAX, BUCKET_ENTRIES_MAX } from '../limits.ts'

/** Entries in the order of their hashes; `more`: there are others behind the last one. */
export type BucketPage = { entries: readonly DirectoryEntry[]; more: boolean }

/** Of equal hashes the first page's entry comes first. Entries of one hash are never parted. */
export function mergePages(pages: readonly BucketPage[]): BucketPage {
  const ends = pages.flatMap(({ entries, more }) => (more ? (entries.at(-1)?.h ?? []) : []))
  const end = ends.toSorted(compare)[0]
  const known = pages
    .flatMap(({ entries }) => entries)
    .filter(({ h }) => end === undefined || compare(h, end) <= 0)
    .toSorted((a, b) => compare(a.h, b.h))
  const fitting = known.slice(0, fittingCount(known))
  return { entries: fitting, more: end !== undefined || fitting.length < known.length }
}

/** How many of these one answer holds; the first hash is always among them. */
function fittingCount(entries: readonly DirectoryEntry[]): number {
  let [bytes, whole] = [0, 0]
  for (const [at, { h, box }] of entries.entries()) {
    const before = entries[at - 1]
    if (before !== undefined && !equal(before.h, h)) whole = at
    bytes += box.length
    if (whole > 0 && (at >= BUCKET_ENTRIES_MAX || bytes > BUCKET_BYTES_MAX)) return whole
  }
  return entries.length
}
