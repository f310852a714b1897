/** What the witnesses of a hub's supply chain had signed at the last audit, and whether any was heard of lately. */
import { fromUtf8, utf8 } from '../../protocol/encoding/bytes.ts'
import { forget, recall, remember } from './memory.ts'
import type { Store } from './open.ts'

export type Witnessed = {
  /** When a witness was heard of last, by its clock. */
  lastMs: number
  isStale: boolean
  /** Records that stood on the chain as they were witnessed, by their ids in base64url. */
  agreed: [seq: number, id: string][]
}

const nameOf = (hub: string): string => `witnesses of ${hub}`

export function witnessedOf(store: Store, hub: string): Witnessed | undefined {
  const kept = recall(store, nameOf(hub))
  return kept && (JSON.parse(fromUtf8(kept)) as Witnessed)
}

export const keepWitnessed = (store: Store, hub: string, kept: Witnessed): void =>
  remember(store, nameOf(hub), utf8(JSON.stringify(kept)))

/** A person goes on with a hub in spite of what was found. */
export const forgetWitnessed = (store: Store, hub: string): void => forget(store, nameOf(hub))
