/**
 * Taking capabilities back: their ids are stored with the decision and told to the hub until it has them. A hub whose
 * list is full makes the mailbox new, which voids them all (hub API: mailbox revoke).
 */
import { Refused } from '../../protocol/contract/client.ts'
import type { HubClient } from '../hubs/hub.ts'
import { dueRevocations, removeRevocations } from '../store/capabilities.ts'
import type { Store } from '../store/open.ts'
import { markNewMailbox } from './key-state.ts'

const IDS_PER_CALL_MAX = 1000

/** Tells the hub what it does not know yet and still counts; true when its list was full and a new mailbox is due. */
export async function sendRevocations(store: Store, now: () => number, hub: HubClient): Promise<boolean> {
  const { mail } = hub
  if (mail === undefined) return false
  for (;;) {
    const ids = dueRevocations(store, now(), IDS_PER_CALL_MAX)
    if (ids.length === 0) return false
    try {
      await mail.revoke(ids)
    } catch (error) {
      if (!(error instanceof Refused && error.code === 'revocation_list_full')) throw error
      store.transaction(() => markNewMailbox(store), 'node.revoke')
      return true
    }
    store.transaction(() => removeRevocations(store, ids), 'node.revoke')
  }
}
