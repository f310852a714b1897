import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compare, fromHex, Malformed, toHex } from '../encoding/bytes.ts'
import { agent, bytesOf, checkByteFormat, fixture } from '../testing/agents.ts'
import {
  bucketPrefix,
  bucketPrefixText,
  bucketRange,
  DirectoryEntry,
  directoryBitsMax,
  directoryHash,
  openBox,
  parseBucketPrefix,
  sealBox,
} from './directory.ts'
import { encodeKel } from './kel.ts'
import { KeySet, KeyStateNotice } from './keyset.ts'

const boxes = fixture<{
  valid: {
    aid: string
    h: string
    salt: string
    box: string
    kel: string
    keySet: string
    notice: string | null
  }[]
  hashes: { aid: string; h: string }[]
  invalid: { aid: string; box: string; reason: string }[]
}>('directory/boxes.json')
const prefixes = fixture<{
  hash: string
  valid: { bits: number; prefix: string; first: string; last: string }[]
  invalid: { prefix: string; bits: number; reason: string }[]
  bitsMax: { agents: number; bits: number }[]
}>('directory/prefixes.json')

describe('directory boxes', () => {
  test(`${boxes.valid.length} valid boxes open to log, key set and notice, and seal to the same bytes`, () => {
    for (const { aid, h, salt, box, kel, keySet, notice } of boxes.valid) {
      expect(toHex(directoryHash(aid))).toBe(h)
      const entry = openBox(aid, fromHex(box))
      expect(toHex(encodeKel(entry.kel))).toBe(kel)
      expect(toHex(KeySet.encode(entry.keySet))).toBe(keySet)
      expect(entry.notice && toHex(KeyStateNotice.encode(entry.notice))).toBe(notice)
      expect(toHex(sealBox(aid, fromHex(salt), entry))).toBe(box)
      expect((box.length / 2 - 32 - 16) % 4096).toBe(0)
    }
  })

  test(`${boxes.invalid.length} faulty boxes are refused`, () => {
    for (const { aid, box, reason } of boxes.invalid) {
      expect(() => openBox(aid, fromHex(box)), reason).toThrow(Malformed)
    }
  })

  test(`${boxes.hashes.length} hashes are those of their AIDs`, () => {
    for (const { aid, h } of boxes.hashes) expect(toHex(directoryHash(aid))).toBe(h)
  })

  test('the three properties of a byte format hold', () => {
    const [one, other] = [agent('one'), agent('other')]
    const entry = fc
      .tuple(fc.constantFrom(one, other), fc.boolean())
      .map(([{ log, keySet, identitySeed, aid }, noticed]): DirectoryEntry => {
        const body = { aid, seq: 0, headDigest: log.headDigest, hubTs: 1, hub: aid, hubSeq: 0 }
        return {
          kel: [...log.events],
          keySet,
          notice: noticed ? KeyStateNotice.sign(identitySeed, body) : null,
        }
      })
    checkByteFormat(DirectoryEntry, entry, 60)
  })
})

describe('buckets', () => {
  test(`${prefixes.valid.length} valid prefixes are read and cover their range`, () => {
    for (const { bits, prefix, first, last } of prefixes.valid) {
      expect(bucketPrefixText(fromHex(prefixes.hash), bits)).toBe(prefix)
      const range = bucketRange(parseBucketPrefix(prefix, bits), bits)
      expect([toHex(range.first), toHex(range.last)]).toEqual([first, last])
    }
  })

  test(`${prefixes.invalid.length} faulty prefixes are refused`, () => {
    for (const { prefix, bits, reason } of prefixes.invalid) {
      expect(() => parseBucketPrefix(prefix, bits), reason).toThrow(Malformed)
    }
  })

  test('a hash lies in the range of its own prefix and of no other', () => {
    fc.assert(
      fc.property(bytesOf(32), bytesOf(32), fc.nat(10), (hash, other, bits) => {
        const prefix = bucketPrefix(hash, bits)
        const { first, last } = bucketRange(prefix, bits)
        const inside = (h: Uint8Array) => compare(first, h) <= 0 && compare(h, last) <= 0
        expect(inside(hash)).toBe(true)
        expect(inside(other)).toBe(toHex(bucketPrefix(other, bits)) === toHex(prefix))
      }),
    )
  })

  test('the narrowest bucket hides an agent among 32, and is never narrower than 10 bits', () => {
    for (const { agents, bits } of prefixes.bitsMax) expect(directoryBitsMax(agents), `${agents}`).toBe(bits)
    for (let agents = 1; agents < 5000; agents += 7) {
      const bits = directoryBitsMax(agents)
      if (bits > 0) expect(agents / 2 ** bits).toBeGreaterThanOrEqual(32)
    }
  })
})
