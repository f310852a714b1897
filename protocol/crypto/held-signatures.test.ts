import { describe, expect, test } from 'vitest'
import { publicKey } from '#crypto'
import { concat } from '../encoding/bytes.ts'
import { labelledSign } from './hash.ts'
import { verifyShown } from './held-signatures.ts'

const seed = (n: number) => new Uint8Array(32).fill(n)
const [mine, other] = [seed(1), seed(2)]
const message = new Uint8Array(40).fill(3)
const LABEL = 'svc-test/v1'
const signature = labelledSign(LABEL, mine, message)

describe('a signature that held', () => {
  test('holds again, under its own key, for its own message and label alone', () => {
    for (let n = 0; n < 2; n++) expect(verifyShown(LABEL, publicKey(mine), message, signature)).toBe(true)
    expect(verifyShown(LABEL, publicKey(other), message, signature)).toBe(false)
    expect(verifyShown(LABEL, publicKey(mine), message.subarray(1), signature)).toBe(false)
    expect(verifyShown('svc-other/v1', publicKey(mine), message, signature)).toBe(false)
    expect(verifyShown(LABEL, publicKey(mine), message, labelledSign(LABEL, other, message))).toBe(false)
  })

  test('is none where the same bytes are cut in another way', () => {
    const key = publicKey(mine)
    expect(verifyShown(LABEL, key, message, signature)).toBe(true)
    const both = concat(key, signature)
    for (const at of [31, 33])
      expect(verifyShown(LABEL, both.subarray(0, at), message, both.subarray(at))).toBe(false)
  })
})
