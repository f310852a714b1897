/** Messages under a key that their sender has retired since. */
import type { VerifiedKel } from '../../protocol/identity/kel.ts'
import { witnessedAt } from '../../protocol/identity/kel-witness.ts'
import type { HubClient } from '../hubs/hub.ts'

/** A message accepted this long after the successor event was witnessed may still carry the older key. */
const RETIRED_GRACE_MS = 5 * 60_000

/** Whether a hub took the message before, or shortly after, it witnessed the event that retired the key. */
export function isTimely(hub: HubClient, log: VerifiedKel, kelSeq: number, acceptedAtMs: number): boolean {
  const successor = witnessedAt(log, kelSeq + 1, hub.identity.log)
  return successor !== undefined && acceptedAtMs < successor + RETIRED_GRACE_MS
}
