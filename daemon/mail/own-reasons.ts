/** Why a message is where it is, in sentences of this node: whatever else is said comes from a hub or a correspondent. */
import { systemFaults } from '../../protocol/encoding/errors.ts'
import { confirmationReasons, finalRefusals, LOST_BY_PEER, LOST_BY_REQUESTER } from '../hubs/failures.ts'
import { ACCESS_REFUSED, HELD, OVERTOOK } from '../store/outbox.ts'
import { sentences } from './awaited-keys.ts'
import { NOT_OURS } from './numbers.ts'
import { QUIET } from './outbox.ts'
import { AT_ANOTHER_HUB, GONE } from './refusals.ts'
import { BADLY_CONFIRMED, UNCONFIRMED } from './status-queries.ts'
import { OVERDUE } from './steps.ts'

const OWN = new Set([
  ...Object.values(confirmationReasons),
  ...Object.values(finalRefusals),
  LOST_BY_PEER,
  LOST_BY_REQUESTER,
  ACCESS_REFUSED,
  HELD,
  OVERTOOK,
  NOT_OURS,
  QUIET,
  AT_ANOTHER_HUB,
  GONE,
  ...Object.values(sentences),
  UNCONFIRMED,
  BADLY_CONFIRMED,
  OVERDUE,
])
const FAULTS = new Set(Object.values(systemFaults))
const UNREACHABLE = /^hub unreachable(?:: https?:\/\/[a-z0-9.:[\]-]{1,100})?(?:, (?<fault>.*))?$/

/** Whether every word of it is ours; a host has no room for a sentence. */
export function isOwnReason(reason: string): boolean {
  const unreachable = UNREACHABLE.exec(reason)
  const fault = unreachable?.groups?.['fault']
  return OWN.has(reason) || (unreachable !== null && (fault === undefined || FAULTS.has(fault)))
}
