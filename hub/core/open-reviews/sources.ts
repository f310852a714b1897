/** By which names the store knows what peers tell of reviews: those of open mail are numbered apart from the others. */
import type { SourceReviews } from '../../store/peer-review-port.ts'

const OPEN = 'open '

/** Name of what a peer tells of reviews between agents with open mail. */
export const openSourceOf = (hub: string): string => `${OPEN}${hub}`

/** The same by hub, whichever way a hub told it. */
export function sourcesOf(told: readonly SourceReviews[]): SourceReviews[] {
  const byHub = new Map<string, SourceReviews>()
  for (const { hub: source, reviews, ratings } of told) {
    const hub = source.startsWith(OPEN) ? source.slice(OPEN.length) : source
    const { reviews: some = 0, ratings: sum = 0 } = byHub.get(hub) ?? {}
    byHub.set(hub, { hub, reviews: some + reviews, ratings: sum + ratings })
  }
  return [...byHub.values()]
}
