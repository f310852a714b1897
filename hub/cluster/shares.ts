/** Shares of first contacts that all processes of a hub count together, under names that only a day's key tells. */
import { fromHex, toHex } from '../../protocol/encoding/bytes.ts'
import { type ContactWindow, contactWaits } from '../core/contact-shares.ts'
import { DAY_MS } from '../core/limits.ts'
import type { FirstContact, ShareLimits, Shares, ShareTaken } from '../core/ports/shares.ts'
import type { Queries } from '../store/postgres/connections.ts'
import type { Write } from '../store/postgres/groups.ts'
import { beganMs } from './began.ts'
import { Keyed } from './keyed.ts'
import { sharedLock } from './locks.ts'
import type { ClusterWriter } from './writes.ts'

const MINUTE_MS = 60_000

/** A count within a window of time; its name is another one in each window. */
type Count = { name: Uint8Array; windowMs: number }
type Counted = Record<ContactWindow | 'sent', Count>
type Taking = {
  counts: Counted
  share: Uint8Array
  mailbox: number
  /** First contacts that wait in the mailbox, whoever sent them. */
  waitingInAll: number
  nowMs: number
  limits: ShareLimits
}

const COUNT =
  'INSERT INTO contact_count (name, used, until_ms) SELECT name, 1, until_ms FROM unnest($1::bytea[], $2::bigint[])' +
  ' AS of(name, until_ms) ON CONFLICT (name) DO UPDATE SET used = contact_count.used + 1'
const WAITING =
  'SELECT count(*) AS known, count(*) FILTER (WHERE share = $2) AS waiting FROM contact_waiting WHERE mailbox = $1'

const endOf = (nowMs: number, windowMs: number): number => nowMs - (nowMs % windowMs) + windowMs

/** How much of a limit each count has used; half of it in a window that began before memory did. */
async function usesOf(db: Queries, { counts, nowMs }: Pick<Taking, 'counts' | 'nowMs'>) {
  const began = await beganMs(db)
  const all = Object.values(counts)
  const rows = await db.all<{ name: Uint8Array; used: number }>(
    'SELECT name, used FROM contact_count WHERE name = ANY($1::bytea[])',
    all.map(({ name }) => name),
  )
  const held = new Map(rows.map(({ name, used }) => [toHex(name), used]))
  return (of: keyof Counted, max: number): number => {
    const { name, windowMs } = counts[of]
    const isCut = began > 0 && endOf(began, windowMs) === endOf(nowMs, windowMs)
    return (isCut ? Math.floor(max / 2) : 0) + (held.get(toHex(name)) ?? 0)
  }
}

export const takeContact: Write<Taking, ShareTaken> = {
  locks: ({ counts, mailbox }) => ({
    subjects: [
      sharedLock('contacts of', String(mailbox)),
      sharedLock('contacts by', toHex(counts.sent.name)),
    ],
  }),
  async make(db, taking) {
    const { counts, share, mailbox, nowMs, limits } = taking
    const used = await usesOf(db, taking)
    if (used('sent', limits.sentPerDay) >= limits.sentPerDay)
      return { outcome: 'senderFull', waitMs: endOf(nowMs, DAY_MS) - nowMs }
    const row = await db.one<{ known: number; waiting: number }>(WAITING, mailbox, share)
    const { known = 0, waiting = 0 } = row ?? {}
    const waits = contactWaits(limits, used, { waiting, unknown: Math.max(0, taking.waitingInAll - known) })
    if (waits !== undefined) return { outcome: 'mailboxFull', waitMs: waitMsOf[waits](nowMs) }
    const all = Object.values(counts)
    await db.run(
      COUNT,
      all.map(({ name }) => name),
      all.map(({ windowMs }) => endOf(nowMs, windowMs)),
    )
    return { outcome: 'taken', share: toHex(share) }
  },
}

const waitMsOf = {
  day: (nowMs: number) => endOf(nowMs, DAY_MS) - nowMs,
  minute: (nowMs: number) => endOf(nowMs, MINUTE_MS) - nowMs,
  room: () => MINUTE_MS,
} as const

type Waiting = { share: Uint8Array; mailbox: number; id: number; untilMs: number }

export const noteContact: Write<Waiting, void> = {
  locks: () => ({}),
  async make(db, { share, mailbox, id, untilMs }) {
    await db.run(
      'INSERT INTO contact_waiting (mailbox, id, share, until_ms) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING',
      ...[mailbox, id, share, untilMs],
    )
  },
}

type Parts = {
  db: Queries
  writer: ClusterWriter
  secret: Uint8Array
  now: () => number
  /** How many first contacts wait in a mailbox, whoever sent them. */
  waitingIn: (mailbox: number) => Promise<number>
}

export function sharesOver({ db, writer, secret, now, waitingIn }: Parts): Shares {
  const keyed = (nowMs: number) => new Keyed(secret, `contacts of day ${Math.floor(nowMs / DAY_MS)}`)
  const sentBy = (keys: Keyed, sender: string): Count => ({
    name: keys.name('sent', sender),
    windowMs: DAY_MS,
  })
  const taking = ({ sender, mailbox, nowMs, limits }: FirstContact): Omit<Taking, 'waitingInAll'> => {
    const keys = keyed(nowMs)
    const minute = Math.floor(nowMs / MINUTE_MS)
    const towards = `${sender} ${mailbox}`
    const counts = {
      sent: sentBy(keys, sender),
      mailboxMinute: { name: keys.name('mailbox', `${mailbox} ${minute}`), windowMs: MINUTE_MS },
      senderMinute: { name: keys.name('minute', `${towards} ${minute}`), windowMs: MINUTE_MS },
      senderDay: { name: keys.name('day', towards), windowMs: DAY_MS },
    }
    return { counts, share: keys.name('share', towards), mailbox, nowMs, limits }
  }
  return {
    async left(sender, sentPerDay, nowMs) {
      const sent = sentBy(keyed(nowMs), sender)
      const counts = { sent, mailboxMinute: sent, senderMinute: sent, senderDay: sent }
      return Math.max(0, sentPerDay - (await usesOf(db, { counts, nowMs }))('sent', sentPerDay))
    },
    async take(contact) {
      const waitingInAll = await waitingIn(contact.mailbox)
      return await writer.write('takeContact', { ...taking(contact), waitingInAll })
    },
    noteQueued: ({ share, mailbox, id }) =>
      writer.write('noteContact', {
        ...{ mailbox, id },
        share: fromHex(share, 'share'),
        untilMs: endOf(now(), DAY_MS),
      }),
    async noteGone(gone) {
      if (gone.length === 0) return
      await db.run(
        'DELETE FROM contact_waiting USING unnest($1::bigint[], $2::bigint[]) AS gone(mailbox, id)' +
          ' WHERE contact_waiting.mailbox = gone.mailbox AND contact_waiting.id = gone.id',
        gone.map(({ mailbox }) => mailbox),
        gone.map(({ id }) => id),
      )
    },
    async forget(mailbox) {
      await db.run('DELETE FROM contact_waiting WHERE mailbox = $1', mailbox)
    },
  }
}

/** After the day nobody can tell whose a name was. */
export async function forgetContacts(db: Queries, nowMs: number): Promise<void> {
  await db.run('DELETE FROM contact_count WHERE until_ms <= $1', nowMs)
  await db.run('DELETE FROM contact_waiting WHERE until_ms <= $1', nowMs)
}
