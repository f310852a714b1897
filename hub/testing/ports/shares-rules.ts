/** The contract of shares of first contacts. */
import { expect } from 'vitest'
import type { ShareLimits, Shares, ShareTaken } from '../../core/ports/shares.ts'
import { NOW_MS, type Pair, type Rule } from './contract.ts'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
const roomy: ShareLimits = {
  sentPerDay: 100,
  perMinute: 100,
  senderPerMinute: 100,
  senderPerDay: 100,
  senderWaiting: 100,
}

type Given = Partial<ShareLimits> & { sender?: string; mailbox?: number; nowMs?: number }

const take = (shares: Shares, { sender = 'A-sender', mailbox = 1, nowMs = NOW_MS, ...limits }: Given = {}) =>
  shares.take({ sender, mailbox, nowMs, limits: { ...roomy, ...limits } })

async function taken(shares: Shares, given?: Given): Promise<string> {
  const answer = await take(shares, given)
  if (answer.outcome !== 'taken') throw new Error(answer.outcome)
  return answer.share
}

/** Takes one in each process, of which the last is refused. */
async function refusedAfter(pair: Pair<Shares>, given: Given, last: Given = given): Promise<ShareTaken> {
  await taken(pair.one, given)
  await taken(pair.other, given)
  return await take(pair.one, last)
}

export const sharesRules: readonly Rule<Shares>[] = [
  [
    'counts what a sender has sent in a day, wherever it sent it and to whom',
    async pair => {
      await taken(pair.one, { mailbox: 1 })
      expect([
        await pair.other.left('A-sender', 3, NOW_MS),
        await pair.one.left('A-other', 3, NOW_MS),
      ]).toEqual([2, 3])
      await taken(pair.other, { mailbox: 2 })
      const waitMs = DAY_MS - (NOW_MS % DAY_MS)
      expect(await take(pair.one, { mailbox: 3, sentPerDay: 2 })).toEqual({ outcome: 'senderFull', waitMs })
      expect(await pair.one.left('A-sender', 2, NOW_MS)).toBe(0)
      expect(await pair.one.left('A-sender', 2, NOW_MS + DAY_MS)).toBe(2)
    },
  ],
  [
    'counts the minute of a mailbox, whoever sends',
    async pair => {
      const refused = await refusedAfter(pair, {}, { perMinute: 2, sender: 'A-other' })
      expect(refused).toEqual({ outcome: 'mailboxFull', waitMs: MINUTE_MS - (NOW_MS % MINUTE_MS) })
      await taken(pair.one, { perMinute: 2, mailbox: 2 })
      await taken(pair.other, { perMinute: 2, nowMs: NOW_MS + MINUTE_MS })
    },
  ],
  [
    'counts minute and day of a sender towards a mailbox',
    async pair => {
      const minute = await refusedAfter(pair, {}, { senderPerMinute: 2 })
      expect(minute.outcome).toBe('mailboxFull')
      expect(await take(pair.other, { senderPerDay: 2, nowMs: NOW_MS + MINUTE_MS })).toMatchObject({
        outcome: 'mailboxFull',
      })
      await taken(pair.other, { senderPerDay: 2, sender: 'A-other' })
      await taken(pair.one, { senderPerDay: 2, nowMs: NOW_MS + DAY_MS })
    },
  ],
  [
    'takes none where the recipient takes none',
    async pair => {
      expect(await take(pair.one, { senderPerDay: 0 })).toMatchObject({ outcome: 'mailboxFull' })
    },
  ],
  [
    'counts only what it takes',
    async pair => {
      for (let i = 0; i < 5; i++) await take(pair.one, { senderPerDay: 0 })
      expect(await pair.other.left('A-sender', 3, NOW_MS)).toBe(3)
      await taken(pair.other, { perMinute: 1 })
    },
  ],
  [
    'judges and counts in one step, also for what comes at once',
    async pair => {
      const asked = Array.from({ length: 10 }, (_, at) =>
        take(at % 2 ? pair.one : pair.other, { sentPerDay: 3 }),
      )
      const outcomes = (await Promise.all(asked)).filter(({ outcome }) => outcome === 'taken')
      expect(outcomes.length).toBe(3)
    },
  ],
  [
    'names a sender towards each mailbox apart, and neither of them',
    async pair => {
      const names = [
        await taken(pair.one),
        await taken(pair.one, { mailbox: 2 }),
        await taken(pair.one, { sender: 'A-other' }),
      ]
      expect(new Set(names).size).toBe(3)
      expect(await taken(pair.other)).toBe(names[0])
      expect(names.join(' ')).not.toContain('A-sender')
    },
  ],
  [
    'counts what waits of a sender until it is gone or the mailbox is emptied',
    async pair => {
      const share = await taken(pair.one)
      await pair.one.noteQueued({ share, mailbox: 1, id: 7 })
      await pair.other.noteQueued({ share, mailbox: 1, id: 8 })
      const waiting = { senderWaiting: 2 }
      expect(await take(pair.other, waiting)).toMatchObject({ outcome: 'mailboxFull' })
      await pair.other.noteGone([
        { mailbox: 2, id: 7 },
        { mailbox: 1, id: 9 },
      ])
      expect(await take(pair.one, waiting)).toMatchObject({ outcome: 'mailboxFull' })
      await pair.other.noteGone([{ mailbox: 1, id: 7 }])
      await taken(pair.one, waiting)
      expect(await take(pair.one, { senderWaiting: 1 })).toMatchObject({ outcome: 'mailboxFull' })
      await pair.one.forget(1)
      await taken(pair.other, { senderWaiting: 1 })
    },
  ],
]
