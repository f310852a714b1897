/** What a failed call to a hub, or a refusing confirmation, says of what happened there. */

import { Refused } from '../../protocol/contract/client.ts'
import { causeCode, systemFault } from '../../protocol/encoding/errors.ts'
import { isOutOfRoom } from '../platform/room.ts'
import { HubStopped, HubUnreachable, NodeStopping, NoHub } from './hub.ts'

/** What a delivery confirmation that is no success says, by its code. */
export const confirmationReasons: Record<number, string> = {
  1: 'refused by the policy of the recipient, who may take no more from strangers now; ask to be added as a contact',
  2: 'the recipient could not use it',
  3: 'refused for its times',
  5: 'the interaction had ended',
}

/** Why the same message would be refused again, by the code with which a hub refused it. */
export const finalRefusals: Record<string, string> = {
  bad_envelope: 'the hub could not read it; this node and the hub may be of different releases',
  bad_request: 'the hub could not read it; this node and the hub may be of different releases',
  recipient_unknown: 'no reachable hub knows the recipient any more; it may have left its hub',
  too_large: 'larger than the hub takes; send less at once',
}

const NEVER_REACHED = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENETUNREACH',
  'EHOSTUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
])

/** Whether the hub cannot have queued the envelope: it refused it, or was never reached. */
export function neverCounted(error: unknown): boolean {
  if (error instanceof HubStopped || error instanceof Refused) return true
  return NEVER_REACHED.has(causeCode(error) ?? '')
}

/** What says all there is to say, whatever caused it. */
const SAID_WHOLE = [Refused, HubStopped, NoHub, NodeStopping]

/** One short sentence of any failure. */
export function describe(error: unknown): string {
  if (SAID_WHOLE.some(kind => error instanceof kind)) return (error as Error).message
  if (isOutOfRoom(error)) return 'the disk is full'
  const code = causeCode(error)
  const why = code === undefined ? [] : [systemFault(code)]
  if (error instanceof HubUnreachable) return [error.message, ...why].join(', ')
  if (code !== undefined) return ['hub unreachable', ...why].join(', ')
  return error instanceof Error ? error.message : String(error)
}
