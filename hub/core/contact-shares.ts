/** For what a first contact has to wait: one judgement for whatever counts. */
import type { ShareLimits } from './ports/shares.ts'

export type ContactWindow = 'mailboxMinute' | 'senderMinute' | 'senderDay'

/** What waits of a sender, and of senders that nobody knows any more. */
export type ContactsWaiting = { waiting: number; unknown: number }

/**
 * What has to pass or to be collected first; undefined where the contact is taken. `used` gives how much of a limit was
 * used; each forgotten sender counts as one who sent half of its share.
 */
export function contactWaits(
  limits: Omit<ShareLimits, 'sentPerDay'>,
  used: (of: ContactWindow, max: number) => number,
  { waiting, unknown }: ContactsWaiting,
): 'day' | 'room' | 'minute' | undefined {
  const { perMinute, senderPerMinute, senderPerDay, senderWaiting } = limits
  if (senderPerDay === 0 || used('senderDay', senderPerDay) >= senderPerDay) return 'day'
  if (Math.min(unknown, Math.floor(senderWaiting / 2)) + waiting >= senderWaiting) return 'room'
  const ofSender = Math.min(senderPerMinute, perMinute)
  if (used('mailboxMinute', perMinute) >= perMinute || used('senderMinute', ofSender) >= ofSender)
    return 'minute'
  return undefined
}
