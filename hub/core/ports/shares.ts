/**
 * Shares of first contacts: what a sender may send in a day, and of a recipient's room for senders it does not know. Who
 * sent to whom is known to nobody who reads a store, a log or a dump.
 */

/** Days and minutes are those of UTC. */
export type ShareLimits = {
  /** What one sender may send in a day, whoever receives it. */
  sentPerDay: number
  /** What a mailbox takes in a minute, and of one sender in a minute and in a day. */
  perMinute: number
  senderPerMinute: number
  senderPerDay: number
  /** What may wait of one sender in a mailbox. */
  senderWaiting: number
}

export type FirstContact = { sender: string; mailbox: number; nowMs: number; limits: ShareLimits }

/** `share` names the sender towards that mailbox and says nothing of either. */
export type ShareTaken =
  | { outcome: 'taken'; share: string }
  /** The day of the sender, or a share of the mailbox, is used up for so many milliseconds. */
  | { outcome: 'senderFull' | 'mailboxFull'; waitMs: number }

export type WaitingContact = { mailbox: number; id: number }

export interface Shares {
  /** How many first contacts a sender may still send in the day. */
  left(sender: string, sentPerDay: number, nowMs: number): Promise<number>
  /** Judges a first contact by all limits and counts it where every one holds, as one step. */
  take(contact: FirstContact): Promise<ShareTaken>
  /** An envelope of a share waits in its mailbox from here on. */
  noteQueued(waiting: WaitingContact & { share: string }): Promise<void>
  /** Envelopes were collected or have expired; those of no first contact mean nothing here. */
  noteGone(gone: readonly WaitingContact[]): Promise<void>
  /** A mailbox was emptied. */
  forget(mailbox: number): Promise<void>
}
