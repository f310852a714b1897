/** The contract of times of signed requests. */
import { expect } from 'vitest'
import type { Replay, SignedTime, TimeTaken } from '../../core/ports/replay.ts'
import { NOW_MS, type Rule } from './contract.ts'

const WINDOW_MS = 300_000
let marks = 0

/** A request that was never made before, unless it has a mark. */
function take(replay: Replay, tsMs: number, more: Partial<SignedTime> = {}): Promise<TimeTaken> {
  marks += 1
  const mark = new Uint8Array(16)
  new DataView(mark.buffer).setUint32(0, marks)
  return replay.take({ aid: 'A-one', tsMs, mark, nowMs: NOW_MS, windowMs: WINDOW_MS, ...more })
}

const taken = { outcome: 'taken' }
const staleAt = (floorMs: number) => ({ outcome: 'stale', floorMs })

export const replayRules: readonly Rule<Replay>[] = [
  [
    'takes times of a signer that rise, in any process, and tells the floor of the rest',
    async pair => {
      expect(await take(pair.one, NOW_MS)).toEqual(taken)
      expect(await take(pair.other, NOW_MS)).toEqual(staleAt(NOW_MS))
      expect(await take(pair.other, NOW_MS - 1)).toEqual(staleAt(NOW_MS))
      expect(await take(pair.other, NOW_MS + 1)).toEqual(taken)
      expect(await take(pair.one, NOW_MS + 1)).toEqual(staleAt(NOW_MS + 1))
    },
  ],
  [
    'keeps the times of each signer for themselves',
    async pair => {
      expect(await take(pair.one, NOW_MS + 10)).toEqual(taken)
      expect(await take(pair.other, NOW_MS, { aid: 'A-two' })).toEqual(taken)
    },
  ],
  [
    'tells the very same request from another one of the same time',
    async pair => {
      const mark = new Uint8Array(16).fill(255)
      expect(await take(pair.one, NOW_MS, { mark })).toEqual(taken)
      expect(await take(pair.other, NOW_MS, { mark })).toEqual({ outcome: 'repeated' })
      expect(await take(pair.other, NOW_MS)).toEqual(staleAt(NOW_MS))
    },
  ],
  [
    'takes one of all that come at once with one time, also of a signer who comes first',
    async pair => {
      const asked = Array.from({ length: 10 }, (_, at) => take(at % 2 ? pair.one : pair.other, NOW_MS))
      const outcomes = (await Promise.all(asked)).filter(({ outcome }) => outcome === 'taken')
      expect(outcomes.length).toBe(1)
    },
  ],
  [
    'takes what lies within the window, the edges included',
    async pair => {
      expect(await take(pair.one, NOW_MS - WINDOW_MS - 1)).toEqual(staleAt(NOW_MS))
      expect(await take(pair.one, NOW_MS - WINDOW_MS)).toEqual(taken)
      expect(await take(pair.other, NOW_MS + WINDOW_MS + 1)).toEqual({ outcome: 'ahead' })
      expect(await take(pair.other, NOW_MS + WINDOW_MS)).toEqual(taken)
    },
  ],
  [
    'remembers nothing of what it refuses',
    async pair => {
      const mark = new Uint8Array(16).fill(254)
      await take(pair.one, NOW_MS + WINDOW_MS + 1, { mark })
      expect(await take(pair.other, NOW_MS, { mark })).toEqual(taken)
    },
  ],
  [
    'takes a time above the floor that its head met, once, although later ones were taken since',
    async pair => {
      const aid = 'A-slow'
      expect(await take(pair.one, NOW_MS, { aid })).toEqual(taken)
      const floorMs = await pair.other.floor(aid)
      expect(floorMs).toBe(NOW_MS)
      expect(await take(pair.one, NOW_MS + 9, { aid, floorMs })).toEqual(taken)
      expect(await take(pair.other, NOW_MS + 5, { aid, floorMs })).toEqual(taken)
      for (const again of [NOW_MS, NOW_MS + 5, NOW_MS + 9])
        expect(await take(pair.one, again, { aid, floorMs })).toEqual(staleAt(NOW_MS + 9))
      expect(await pair.one.floor(aid)).toBe(NOW_MS + 9)
      expect(await take(pair.one, NOW_MS + 7, { aid })).toEqual(staleAt(NOW_MS + 9))
    },
  ],
]
