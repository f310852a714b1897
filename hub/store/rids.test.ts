/** What queued envelopes are called, and how they are found by it. */
import { createCipheriv, randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { toHex } from '../../protocol/encoding/bytes.ts'
import { type EnvelopePlace, Rids } from './rids.ts'

const rids = new Rids(randomBytes(16))
const places: EnvelopePlace[] = [1, 2 ** 32 - 1, 2 ** 32, Number.MAX_SAFE_INTEGER].flatMap(mailbox =>
  [0, 1, 2 ** 32 + 1, Number.MAX_SAFE_INTEGER].map(id => ({ mailbox, id })),
)

test.each(places)('16 bytes lead back to mailbox $mailbox, id $id', place => {
  const rid = rids.of(place)
  expect(rid.length).toBe(16)
  expect(rids.placeOf(rid)).toEqual(place)
})

test('neighbours have nothing in common', () => {
  const named = Array.from({ length: 2000 }, (_, id) => rids.of({ mailbox: 7, id }))
  expect(new Set(named.map(toHex)).size).toBe(named.length)
  const differing = named.slice(1).map((rid, at) => bitsApart(rid, named[at] as Uint8Array))
  expect(Math.min(...differing)).toBeGreaterThan(25)
  const mean = differing.reduce((sum, bits) => sum + bits) / differing.length
  expect(mean).toBeGreaterThan(62)
  expect(mean).toBeLessThan(66)
})

test('a name that was given out stays as it was when others are made', () => {
  const first = rids.of({ mailbox: 1, id: 1 })
  const before = toHex(first)
  rids.of({ mailbox: 1, id: 2 })
  rids.placeOf(randomBytes(16))
  expect(toHex(first)).toBe(before)
})

test('what another store called so, or nobody, leads to no place that an envelope can have', () => {
  const other = new Rids(randomBytes(16))
  expect(other.of({ mailbox: 1, id: 1 })).not.toEqual(rids.of({ mailbox: 1, id: 1 }))
  const found = Array.from({ length: 2000 }, (_, id) => rids.placeOf(other.of({ mailbox: 1, id })))
  expect(found.filter(place => place !== undefined && place.mailbox < 2 ** 32)).toEqual([])
})

test.each([
  ['mailbox', [2 ** 21, 0, 0, 1]],
  ['id', [0, 1, 2 ** 21, 0]],
])('a %s beyond the integers that are exact is no place', (_, words) => {
  const key = randomBytes(16)
  const block = Buffer.alloc(16)
  words.forEach((word, at) => {
    block.writeUInt32BE(word, at * 4)
  })
  const enciphered = createCipheriv('aes-128-ecb', key, null).setAutoPadding(false).update(block)
  expect(new Rids(key).placeOf(new Uint8Array(enciphered))).toBeUndefined()
})

test.each([0, 15, 17, 32])('%i bytes name nothing', length => {
  expect(rids.placeOf(randomBytes(length))).toBeUndefined()
})

function bitsApart(a: Uint8Array, b: Uint8Array): number {
  return a.reduce((sum, byte, at) => sum + bits(byte ^ (b[at] as number)), 0)
}

const bits = (byte: number): number => byte.toString(2).replaceAll('0', '').length
