/** Key histories as a hub of open mail serves them. */
import { Refused } from '../../protocol/contract/client.ts'
import { Malformed } from '../../protocol/encoding/bytes.ts'
import { KelInvalid, type KeyEvent } from '../../protocol/identity/kel.ts'
import type { HubClient } from '../hubs/hub.ts'

/** The events that a hub shows of an agent; undefined where it knows none, or shows what cannot be read. */
export async function logAt(hub: HubClient, aid: string): Promise<readonly KeyEvent[] | undefined> {
  if (aid === hub.identity.aid) return hub.identity.log.events
  try {
    return await hub.fetchLog(aid)
  } catch (error) {
    const isMissing = error instanceof Refused && error.code === 'unknown_aid'
    if (isMissing || error instanceof Malformed || error instanceof KelInvalid) return undefined
    throw error
  }
}
