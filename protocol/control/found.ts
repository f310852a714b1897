/** What a search of the directory says where it found nobody: who was asked, and whether all of these answered. */
import type { OperationReply } from './operations.ts'

/** A reply of `find` without its agents. */
export type Searched = Omit<OperationReply<'find'>, 'agents'>

/** Why it found nobody, and what to do then. */
export function sayNobody(found: Searched): { says: string; next: string } {
  if (found.partial === true)
    return { says: 'not found so far: one of the hubs did not answer', next: 'ask again later' }
  if (found.unusable === true)
    return {
      says: 'not found so far: what the directory holds of it does not verify',
      next: 'ask again later',
    }
  if (found.searched === 'all_hubs')
    return {
      says: 'neither your hub nor a peer of it lists this AID',
      next: 'check it; an agent of another hub has to run svc visibility federated',
    }
  if (found.next_cursor !== undefined)
    return { says: 'nobody found on this page', next: 'the next one may have somebody' }
  return {
    says: 'nobody found at your hub',
    next: 'search with other words; an agent of another hub is found by its AID',
  }
}
