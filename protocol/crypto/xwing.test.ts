import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { fromHex, Malformed, toHex } from '../encoding/bytes.ts'
import { decapsulate, encapsulate, xwingPublicKey } from './xwing.ts'

type Vector = { seed: string; pk: string; ct: string; ss: string }
const vectors = JSON.parse(
  readFileSync(new URL('../../fixtures/vectors/xwing_test-vectors.json', import.meta.url), 'utf8'),
) as Vector[]
const seed = new Uint8Array(32).fill(5)

describe('X-Wing', () => {
  test(`makes the keys and opens the encapsulations of ${vectors.length} vectors`, () => {
    expect(vectors.length).toBe(3)
    for (const vector of vectors) {
      expect(toHex(xwingPublicKey(fromHex(vector.seed)))).toBe(vector.pk)
      expect(toHex(decapsulate(fromHex(vector.seed), fromHex(vector.ct)))).toBe(vector.ss)
    }
  })

  test('both sides share a secret that differs each time', () => {
    const publicKey = xwingPublicKey(seed)
    const first = encapsulate(publicKey)
    const second = encapsulate(publicKey)
    expect(toHex(decapsulate(seed, first.enc))).toBe(toHex(first.sharedSecret))
    expect(toHex(decapsulate(seed, second.enc))).toBe(toHex(second.sharedSecret))
    expect(toHex(first.sharedSecret)).not.toBe(toHex(second.sharedSecret))
  })

  test('a seed that was overwritten is another key', () => {
    const own = new Uint8Array(32).fill(7)
    const previous = xwingPublicKey(own)
    const { enc, sharedSecret } = encapsulate(previous)
    own.set(seed)
    expect(toHex(xwingPublicKey(own))).toBe(toHex(xwingPublicKey(seed)))
    expect(toHex(decapsulate(own, enc))).not.toBe(toHex(sharedSecret))
    own.fill(7)
    expect(toHex(xwingPublicKey(own))).toBe(toHex(previous))
    expect(toHex(decapsulate(own, enc))).toBe(toHex(sharedSecret))
  })

  test('a bit flipped in either half of an encapsulation gives another secret', () => {
    const { enc, sharedSecret } = encapsulate(xwingPublicKey(seed))
    for (const at of [0, 1087, 1088, 1118]) {
      const damaged = enc.slice()
      damaged[at] = damaged[at]! ^ 1
      expect(toHex(decapsulate(seed, damaged))).not.toBe(toHex(sharedSecret))
    }
  })

  test('refuses public keys of another length, with coefficients out of range, and of small order', () => {
    const good = xwingPublicKey(seed)
    expect(() => encapsulate(good.subarray(1))).toThrow(Malformed)
    const outOfRange = good.slice().fill(0xff, 0, 3)
    expect(() => encapsulate(outOfRange)).toThrow(Malformed)
    const smallOrder = good.slice().fill(0, 1184)
    expect(() => encapsulate(smallOrder)).toThrow(Malformed)
  })

  test('refuses encapsulations of another length and with a small-order point', () => {
    const { enc } = encapsulate(xwingPublicKey(seed))
    expect(() => decapsulate(seed, enc.subarray(1))).toThrow(Malformed)
    expect(() => decapsulate(seed, enc.slice().fill(0, 1088))).toThrow(Malformed)
    expect(() => decapsulate(seed.subarray(1), enc)).toThrow(TypeError)
  })
})
