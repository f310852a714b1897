/** The key history of a hub, as far as it was shown so far. */
import { compareKel, type VerifiedKel } from '../../protocol/identity/kel.ts'
import type { HubClient } from './hub.ts'

/** The held log of a hub with what it now shows; undefined when that contradicts it or is another's. */
export function mergeHubLog(held: VerifiedKel, offered: VerifiedKel): VerifiedKel | undefined {
  if (held.aid !== offered.aid) return undefined
  const verdict = compareKel(held, offered.events)
  if (verdict.verdict === 'fork') return undefined
  return verdict.verdict === 'extends' ? verdict.log : held
}

/** Asks a hub for its history where it signs under a key that it has not shown yet: its operator rotated it. */
export async function learnHubKey(hub: HubClient, hubSeq: number): Promise<void> {
  if (hubSeq > hub.identity.log.seq) await hub.refresh()
}
