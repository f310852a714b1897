/** The contract of sending sessions. */
import { expect } from 'vitest'
import type { OpenSessions, Session, SessionTerms } from '../../core/ports/sessions.ts'
import { NOW_MS, type Rule } from './contract.ts'

const LIFE_MS = 3_600_000
const ONE = 'A-one'

const open = (sessions: OpenSessions, terms: Partial<SessionTerms> = {}): Promise<Session> =>
  sessions.open({ aid: ONE, nowMs: NOW_MS, expMs: NOW_MS + LIFE_MS, max: 4, ...terms }, session => session)

const lives = async (sessions: OpenSessions, { sid }: Session, nowMs = NOW_MS): Promise<boolean> =>
  (await sessions.find(sid, nowMs)) !== undefined

export const sessionsRules: readonly Rule<OpenSessions>[] = [
  [
    'finds a session wherever it was opened, as it was given',
    async pair => {
      const session = await open(pair.one)
      expect([session.sid.length, session.macKey.length]).toEqual([16, 32])
      for (const sessions of [pair.one, pair.other])
        expect(await sessions.find(session.sid.slice(), NOW_MS)).toEqual(session)
    },
  ],
  [
    'gives no sid and no key twice, and finds none that it did not give',
    async pair => {
      const all = [await open(pair.one), await open(pair.other), await open(pair.one)]
      const texts = all.flatMap(({ sid, macKey }) => [sid.toString(), macKey.toString()])
      expect(new Set(texts).size).toBe(6)
      const changed = all[0]?.sid.map((byte, at) => (at === 3 ? byte ^ 1 : byte)) ?? new Uint8Array(16)
      expect(await pair.one.find(changed, NOW_MS)).toBeUndefined()
    },
  ],
  [
    'ends a session at its time',
    async pair => {
      const session = await open(pair.one)
      expect(await lives(pair.other, session, session.expMs - 1)).toBe(true)
      expect(await lives(pair.other, session, session.expMs)).toBe(false)
    },
  ],
  [
    'ends the oldest of an agent that opens too many, and no other',
    async pair => {
      const other = await open(pair.one, { aid: 'A-two' })
      const own = [await open(pair.one), await open(pair.other), await open(pair.one), await open(pair.other)]
      const fifth = await open(pair.one)
      const alive = await Promise.all([...own, fifth, other].map(session => lives(pair.other, session)))
      expect(alive).toEqual([false, true, true, true, true, true])
    },
  ],
  [
    'opens nothing and ends nothing where sealing fails',
    async pair => {
      const first = await open(pair.one, { max: 1 })
      const drawn: Session[] = []
      const failing = pair.other.open(
        { aid: ONE, nowMs: NOW_MS, expMs: NOW_MS + LIFE_MS, max: 1 },
        session => {
          drawn.push(session)
          throw new Error('no key of the suite')
        },
      )
      await expect(failing).rejects.toThrow('no key of the suite')
      expect(await lives(pair.one, first)).toBe(true)
      for (const session of drawn) expect(await lives(pair.one, session)).toBe(false)
    },
  ],
  [
    'ends all of one agent everywhere, and lets it open others',
    async pair => {
      const before = [await open(pair.one), await open(pair.other)]
      const other = await open(pair.one, { aid: 'A-two' })
      await pair.other.endAll(ONE)
      expect(await Promise.all(before.map(session => lives(pair.one, session)))).toEqual([false, false])
      expect(await lives(pair.other, other)).toBe(true)
      expect(await lives(pair.other, await open(pair.one))).toBe(true)
    },
  ],
]
