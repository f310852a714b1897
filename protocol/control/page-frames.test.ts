/** Frames between a page of the console and its node. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { concat } from '../encoding/bytes.ts'
import { FRAME_BYTES_MAX, type Frame, type FrameKind, FrameOpener, FrameSealer } from './page-frames.ts'
import { callKeys } from './page-key.ts'

const KEY = new Uint8Array(32).fill(7)
const kinds: readonly FrameKind[] = ['alive', 'head', 'part', 'end', 'more']
const frames = fc.array(
  fc.record({ kind: fc.constantFrom(...kinds), content: fc.uint8Array({ maxLength: 200 }) }),
  { minLength: 1, maxLength: 6 },
)

const sealed = (said: readonly Frame[]) => {
  const sealer = new FrameSealer(KEY)
  return said.map(({ kind, content }) => sealer.seal(kind, content))
}
const opened = (...pieces: readonly Uint8Array[]) => {
  const opener = new FrameOpener(KEY)
  return pieces.flatMap(piece => [...opener.open(piece)])
}

describe('frames', () => {
  test('come out as they were sealed, in pieces of any size', () => {
    fc.assert(
      fc.property(frames, fc.integer({ min: 1, max: 64 }), (said, size) => {
        const bytes = concat(...sealed(said))
        const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
          bytes.subarray(i * size, (i + 1) * size),
        )
        expect(opened(...pieces).map(one => ({ ...one, content: Uint8Array.from(one.content) }))).toEqual(
          said,
        )
      }),
    )
  })

  test('that somebody altered, anywhere, are not opened', () => {
    fc.assert(
      fc.property(frames, fc.nat(), fc.integer({ min: 1, max: 255 }), (said, place, change) => {
        const bytes = concat(...sealed(said))
        const at = place % bytes.length
        bytes[at] = (bytes[at] ?? 0) ^ change
        let read: Frame[] = []
        try {
          read = opened(bytes)
        } catch {
          return
        }
        // a length that grew waits for bytes that never come: fewer came out than were sealed
        expect(read.length).toBeLessThan(said.length)
      }),
    )
  })

  test('that were cut off, left out, given twice or put in another order are not opened', () => {
    const [a, b, c] = sealed(kinds.slice(0, 3).map(kind => ({ kind, content: KEY })))
    if (a === undefined || b === undefined || c === undefined) throw new Error('three frames')
    expect(opened(a, b, c.subarray(0, -1))).toHaveLength(2)
    for (const order of [[a, c], [b], [a, a], [b, a]]) expect(() => opened(...order)).toThrow('authenticate')
  })

  test('of another direction, call, challenge or host have other keys', () => {
    const call = { host: 'here:1', challenge: 'c', counter: 1 }
    const others = [
      { ...call, counter: 2 },
      { ...call, challenge: 'd' },
      { ...call, host: 'here:2' },
    ]
    const keys = [call, ...others].map(one => callKeys(KEY, one)).flatMap(({ page, node }) => [page, node])
    expect(new Set(keys.map(key => key.join())).size).toBe(8)
  })

  test('of more than 64 KiB are refused before they are read', () => {
    const length = new Uint8Array(4)
    new DataView(length.buffer).setUint32(0, FRAME_BYTES_MAX + 18)
    expect(() => opened(length)).toThrow('too long')
  })

  test('of an unknown kind are refused', () => {
    const odd = new FrameSealer(KEY)
    expect(() => opened(odd.seal('unknown' as FrameKind))).toThrow('no known kind')
  })
})
