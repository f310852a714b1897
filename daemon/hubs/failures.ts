/** What a failed call to a hub, or a refusing confirmation, says of what happened there. */

import { Refused } from '../../protocol/contract/client.ts'
import { causeCode, systemCode, systemFault, systemFaults } from '../../protocol/encoding/errors.ts'
import { isOutOfRoom, isStoreFailure } from '../platform/room.ts'
import { ownReason, type Reason, reasonOfHub } from '../store/reasons.ts'
import { HubStopped, HubUnreachable, NodeStopping, NoHub } from './hub.ts'

/** What a recipient that did not take a message says by its verdict. */
export const refusedByRecipient = {
  refusedByPolicy:
    'refused by the policy of the recipient, who may take no tasks now, or no more from strangers; a stranger can ask to be added as a contact, and send it anew then',
  malformed: 'the recipient could not use it',
  ended: 'the interaction had ended',
} as const

/** Said of a task whose other side lost it, to its requester and to its provider. */
export const LOST_BY_PEER =
  'the other side says that it was restored from a backup and no longer has this task; delegate it anew'
export const LOST_BY_REQUESTER =
  'the other side says that it was restored from a backup and no longer has this task, which it had delegated; no answer arrives there, and nothing is to be done here'

/** Why the same message would be refused again, by the code with which a hub refused it. */
export const finalRefusals: Record<string, string> = {
  bad_envelope: 'the hub could not read it; this node and the hub may be of different releases',
  bad_request: 'the hub could not read it; this node and the hub may be of different releases',
  too_large: 'larger than the hub takes; send less at once',
}

/** Why a message waits, by the code with which a hub refused it for now. */
export const waitingRefusals: Record<string, string> = {
  access_invalid: 'the hub does not accept the capability of the recipient any more',
  home_unreachable: 'the hub of the recipient did not answer',
  internal: 'the hub failed at it',
  kid_stale: 'the recipient has published new keys',
  mailbox_full: 'the mailbox of the recipient is full',
  rate_limited: 'the hub takes no more from this node just now',
  redelivery_limited: 'the hub has taken it too often lately',
  strangers_busy: 'the recipient takes no more from strangers just now',
  too_large_for_stranger:
    'too large for a stranger of the recipient; it leaves once the recipient has let this node in',
  unavailable: 'the hub takes no more work just now',
}

const NEVER_REACHED = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENETUNREACH',
  'EHOSTUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
])

/** Whether no connection to the hub came about. */
export const isUnreached = (error: unknown): boolean =>
  !(error instanceof Refused) && NEVER_REACHED.has(causeCode(error) ?? '')

/** Whether the hub cannot have queued the envelope: it refused it, or was never reached. */
export const neverCounted = (error: unknown): boolean =>
  error instanceof HubStopped || error instanceof Refused || isUnreached(error)

const OF_THIS_MACHINE = /^(ENOSPC|EDQUOT|EIO|EROFS|EACCES|EPERM|ENOENT|ENOTDIR|EEXIST)$/
const MISTAKES = [TypeError, RangeError, ReferenceError]

/** Whether something failed on this machine, its disk or by a mistake of ours, whatever the hub did. */
export const isOwnFailure = (error: unknown): boolean =>
  isStoreFailure(error) ||
  OF_THIS_MACHINE.test(systemCode(error) ?? '') ||
  (causeCode(error) === undefined && MISTAKES.some(kind => error instanceof kind))

/** The reply, or undefined where the hub has no such thing. */
export async function unlessMissing<T>(reply: Promise<T>): Promise<T | undefined> {
  try {
    return await reply
  } catch (error) {
    if (error instanceof Refused && error.status === 404) return undefined
    throw error
  }
}

/** What says all there is to say, whatever caused it. */
const SAID_WHOLE = [Refused, HubStopped, NoHub, NodeStopping]

/** One short sentence of any failure, and whose words it is: `hub` where one may have had a word in it. */
export function reasonOf(error: unknown): Reason<'hub'> {
  const code = causeCode(error)
  const isOfNetwork = error instanceof HubUnreachable || code !== undefined
  const isNamed = code === undefined || Object.hasOwn(systemFaults, code)
  const isSaidWhole = SAID_WHOLE.some(kind => error instanceof kind)
  const isOwn = isOutOfRoom(error) || (isOfNetwork && isNamed && !isSaidWhole)
  return (isOwn ? ownReason : reasonOfHub)(describe(error))
}

/** The same in words alone. */
export function describe(error: unknown): string {
  if (SAID_WHOLE.some(kind => error instanceof kind)) return (error as Error).message
  if (isOutOfRoom(error)) return 'the disk is full'
  const code = causeCode(error)
  const why = code === undefined ? [] : [systemFault(code)]
  if (error instanceof HubUnreachable) return [error.message, ...why].join(', ')
  if (code !== undefined) return ['hub unreachable', ...why].join(', ')
  return error instanceof Error ? error.message : String(error)
}
