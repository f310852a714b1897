/** What a failed call to a hub, or a refusing confirmation, says of what happened there. */

import { Refused } from '../../protocol/contract/client.ts'
import { systemCode } from '../../protocol/encoding/errors.ts'
import { HubStopped, HubUnreachable } from './hub.ts'

/** What a delivery confirmation that is no success says, by its code. */
export const confirmationReasons: Record<number, string> = {
  1: 'refused by the policy of the recipient',
  2: 'the recipient could not use it',
  3: 'refused for its times',
  5: 'the interaction had ended',
}

const NEVER_REACHED = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENETUNREACH',
  'EHOSTUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
])
const NETWORK_FAULTS = new Map([
  ['ECONNREFUSED', 'nothing listens there'],
  ['ECONNRESET', 'the connection was cut'],
  ['UND_ERR_SOCKET', 'the connection was cut'],
  ['EPIPE', 'the connection was cut'],
  ['ENOTFOUND', 'there is no such host'],
  ['EAI_AGAIN', 'its name could not be looked up'],
  ['ENETUNREACH', 'this machine has no way to it'],
  ['EHOSTUNREACH', 'this machine has no way to it'],
  ['ETIMEDOUT', 'it did not answer in time'],
  ['UND_ERR_CONNECT_TIMEOUT', 'it did not answer in time'],
  ['UND_ERR_HEADERS_TIMEOUT', 'it did not answer in time'],
  ['UND_ERR_BODY_TIMEOUT', 'it did not answer in time'],
])
const CAUSES_DEEP_MAX = 6

/** Whether the hub cannot have queued the envelope: it refused it, or was never reached. */
export function neverCounted(error: unknown): boolean {
  if (error instanceof HubStopped || error instanceof Refused) return true
  return NEVER_REACHED.has(causeCode(error) ?? '')
}

/** The system's code of a failure, wherever in its chain of causes. */
export function causeCode(error: unknown): string | undefined {
  let cause = error
  for (let depth = 0; depth < CAUSES_DEEP_MAX && cause instanceof Error; depth++) {
    const code = systemCode(cause)
    if (code !== undefined) return code
    cause = cause.cause
  }
  return undefined
}

/** One short sentence of any failure. */
export function describe(error: unknown): string {
  if (error instanceof Refused || error instanceof HubStopped) return error.message
  const code = causeCode(error)
  if (error instanceof HubUnreachable)
    return [error.message, NETWORK_FAULTS.get(code ?? '') ?? code].filter(Boolean).join(', ')
  if (code !== undefined) return `hub unreachable, ${NETWORK_FAULTS.get(code) ?? code}`
  return error instanceof Error ? error.message : String(error)
}
