/** Shares of first contacts in the memory of one process. */
import { DAY_MS } from '../limits.ts'
import type { Shares } from '../ports/shares.ts'
import { Strangers, type StrangersOptions } from './strangers.ts'
import { WindowCounts } from './window-counts.ts'

export function sharesInProcess(options: StrangersOptions): Shares {
  const strangers = new Strangers(options)
  const sent = new WindowCounts(DAY_MS, options.lastMs)
  const left = (sender: string, sentPerDay: number, nowMs: number): number =>
    Math.max(0, sentPerDay - sent.used(sender, sentPerDay, nowMs))
  return {
    left: async (sender, sentPerDay, nowMs) => left(sender, sentPerDay, nowMs),
    async take({ sender, mailbox, nowMs, limits }) {
      const unknown = await strangers.unknownIn(mailbox)
      // from here to the end nothing is waited for, so that what was judged is what is counted
      if (left(sender, limits.sentPerDay, nowMs) === 0)
        return { outcome: 'senderFull', waitMs: sent.remainingMs(nowMs) }
      const share = strangers.share(sender, mailbox)
      const waitMs = strangers.waitMs(share, mailbox, { ...limits, unknown }, nowMs)
      if (waitMs > 0) return { outcome: 'mailboxFull', waitMs }
      strangers.count(share, mailbox, nowMs)
      sent.add(sender, nowMs)
      return { outcome: 'taken', share }
    },
    noteQueued: async ({ share, mailbox, id }) => strangers.noteQueued(share, mailbox, id),
    async noteGone(gone) {
      for (const { mailbox, id } of gone) strangers.noteGone(mailbox, id)
    },
    forget: async mailbox => strangers.forget(mailbox),
  }
}
