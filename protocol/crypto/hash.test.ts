import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { publicKey, sha256 } from '#crypto'
import { fromHex, Malformed, toHex, utf8 } from '../encoding/bytes.ts'
import { aidBytes, aidOfInception, aidText, isAid } from '../identity/aid.ts'
import {
  cidText,
  contentId,
  isContentId,
  labelledHash,
  labelledSign,
  labelledVerify,
  parseCid,
} from './hash.ts'

const fixture = JSON.parse(
  readFileSync(new URL('../../fixtures/hash/hashes.json', import.meta.url), 'utf8'),
) as {
  labelled: { label: string; message: string; digest: string }[]
  cids: { content: string; cid: string; bytes: string }[]
  invalidCids: { text: string; reason: string }[]
  aids: { body: string; aid: string }[]
  invalidAids: { text: string; reason: string }[]
}

describe('labelled hashes', () => {
  test(`are H(label, zero byte, message) in ${fixture.labelled.length} vectors`, () => {
    for (const { label, message, digest } of fixture.labelled) {
      expect(toHex(labelledHash(label, fromHex(message)))).toBe(digest)
    }
  })

  test('a signature under one label is none under another', () => {
    const seed = new Uint8Array(32).fill(1)
    const signature = labelledSign('svc-cap/v1', seed, utf8('body'))
    expect(labelledVerify('svc-cap/v1', publicKey(seed), utf8('body'), signature)).toBe(true)
    expect(labelledVerify('svc-cap/v2', publicKey(seed), utf8('body'), signature)).toBe(false)
    expect(labelledVerify('svc-cap', publicKey(seed), utf8('/v1body'), signature)).toBe(false)
  })
})

describe('content ids', () => {
  test(`have the text and bytes of ${fixture.cids.length} vectors`, () => {
    for (const { content, cid, bytes } of fixture.cids) {
      expect(cidText(contentId(fromHex(content)))).toBe(cid)
      expect(toHex(parseCid(cid))).toBe(bytes)
    }
  })

  test(`refuse ${fixture.invalidCids.length} faulty texts`, () => {
    for (const { text, reason } of fixture.invalidCids)
      expect(() => parseCid(text), reason).toThrow(Malformed)
    expect(isContentId(new Uint8Array(36))).toBe(false)
    expect(() => cidText(new Uint8Array(36))).toThrow(Malformed)
  })

  test('text and bytes stand for each other', () => {
    fc.assert(
      fc.property(fc.uint8Array(), content => {
        const cid = contentId(content)
        expect(cidText(cid)).toMatch(/^bafkrei[a-z2-7]{52}$/)
        expect(toHex(parseCid(cidText(cid)))).toBe(toHex(cid))
      }),
    )
  })

  test('any text parses to what prints as itself, or is refused with Malformed', () => {
    const near = fc
      .tuple(fc.uint8Array(), fc.nat(58), fc.constantFrom('a', '2', '7', 'B', '=', '0'))
      .map(([b, at, c]) => {
        const text = cidText(contentId(b))
        return text.slice(0, at) + c + text.slice(at + 1)
      })
    fc.assert(
      fc.property(fc.oneof(near, fc.string()), text => {
        try {
          expect(cidText(parseCid(text))).toBe(text)
        } catch (error) {
          expect(error).toBeInstanceOf(Malformed)
        }
      }),
    )
  })
})

describe('agent identifiers', () => {
  test(`are the digest of the inception in ${fixture.aids.length} vectors`, () => {
    for (const { body, aid } of fixture.aids) expect(aidOfInception(fromHex(body))).toBe(aid)
  })

  test('have 33 bytes and 44 characters that start with A', () => {
    fc.assert(
      fc.property(fc.uint8Array(), body => {
        const aid = aidOfInception(body)
        expect(aid).toMatch(/^A[A-Za-z0-9_-]{43}$/)
        expect(aidText(aidBytes(aid))).toBe(aid)
        expect(isAid(aid)).toBe(true)
      }),
    )
  })

  test(`refuse ${fixture.invalidAids.length} faulty texts`, () => {
    for (const { text, reason } of fixture.invalidAids) {
      expect(() => aidBytes(text), reason).toThrow(Malformed)
      expect(isAid(text), reason).toBe(false)
    }
    expect(() => aidText(sha256(utf8('x')))).toThrow(Malformed)
  })
})
