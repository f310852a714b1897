import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compare } from '../../../protocol/encoding/bytes.ts'
import type { DirectoryEntry } from '../../store/port.ts'
import { BUCKET_BYTES_MAX, BUCKET_ENTRIES_MAX } from '../limits.ts'
import { mergePages } from './merged-bucket.ts'

const hash = (n: number): Uint8Array => {
  const h = new Uint8Array(32)
  new DataView(h.buffer).setUint32(0, n)
  return h
}
const entry = (n: number, from = 0, bytes = 1): DirectoryEntry => ({
  h: hash(n),
  box: new Uint8Array(bytes).fill(from),
})
const numbers = (entries: readonly DirectoryEntry[]) =>
  entries.map(({ h }) => new DataView(h.buffer).getUint32(0))

test('pages of several hubs become one in the order of the hashes, of equal ones the first hub first', () => {
  const { entries, more } = mergePages([
    { entries: [entry(2), entry(5)], more: false },
    { entries: [entry(1, 1), entry(5, 1)], more: false },
  ])
  expect([numbers(entries), entries.map(({ box }) => box[0]), more]).toEqual([
    [1, 2, 5, 5],
    [1, 0, 0, 1],
    false,
  ])
})

test('a page that goes on ends the whole page where it ends', () => {
  const { entries, more } = mergePages([
    { entries: [entry(2)], more: true },
    { entries: [entry(1), entry(3)], more: false },
  ])
  expect([numbers(entries), more]).toEqual([[1, 2], true])
})

describe('a page', () => {
  test('holds no more entries and bytes than an answer may, and at least one', () => {
    const many = Array.from({ length: BUCKET_ENTRIES_MAX + 5 }, (_, n) => entry(n))
    expect(mergePages([{ entries: many, more: false }])).toMatchObject({ more: true })
    expect(mergePages([{ entries: many, more: false }]).entries).toHaveLength(BUCKET_ENTRIES_MAX)
    const large = [entry(1, 0, BUCKET_BYTES_MAX), entry(2)]
    expect(numbers(mergePages([{ entries: large, more: false }]).entries)).toEqual([1])
  })

  test('never parts entries of one hash', () => {
    const many = Array.from({ length: BUCKET_ENTRIES_MAX - 1 }, (_, n) => entry(n))
    const same = [entry(9999, 1), entry(9999, 2), entry(9999, 3)]
    const pages = [many, ...same.map(one => [one])].map(entries => ({ entries, more: false }))
    const { entries, more } = mergePages(pages)
    expect([entries.length, more]).toEqual([BUCKET_ENTRIES_MAX - 1, true])
  })

  test('and the next ones together give every entry once, whoever has it and however it is cut', () => {
    const hub = fc.uniqueArray(fc.nat(60)).map(found => found.toSorted((a, b) => a - b))
    fc.assert(
      fc.property(
        fc.array(hub, { minLength: 1, maxLength: 4 }),
        fc.integer({ min: 1, max: 7 }),
        (hubs, size) => {
          const seen: number[] = []
          let after: Uint8Array | undefined
          for (let turn = 0; turn < 200; turn++) {
            const pages = hubs.map(found => {
              const left = found
                .map(n => entry(n))
                .filter(({ h }) => after === undefined || compare(h, after) > 0)
              return { entries: left.slice(0, size), more: left.length > size }
            })
            const { entries, more } = mergePages(pages)
            seen.push(...numbers(entries))
            after = entries.at(-1)?.h
            if (!more) break
          }
          expect(seen).toEqual(hubs.flat().toSorted((a, b) => a - b))
        },
      ),
    )
  })
})
