import { describe, expect, test } from 'vitest'
import * as portable from './engine.browser.ts'
import * as node from './engine.node.ts'
import { isStrict } from './strict.ts'

const seed = new Uint8Array(32).fill(3)
const key = node.publicKey(seed)
const message = new Uint8Array(20)
const signature = node.sign(seed, message)
/** A canonical encoding (y = 2) that no point of the curve has. */
const offCurve = Uint8Array.from({ length: 32 }, (_, i) => (i === 0 ? 2 : 0))
/** y = p - 1 + 2^255: the point of order 2 with its sign bit set. */
const p = Uint8Array.from({ length: 32 }, (_, i) => (i === 0 ? 0xed : i === 31 ? 0x7f : 0xff))
const belowP = Uint8Array.from(p, (byte, i) => (i === 0 ? byte - 3 : byte))

describe('a key and a signature that may be judged', () => {
  test('have exactly 32 and 64 bytes', () => {
    expect(isStrict(key, signature)).toBe(true)
    expect(isStrict(key.subarray(0, 31), signature)).toBe(false)
    expect(isStrict(new Uint8Array([...key, 0]), signature)).toBe(false)
    expect(isStrict(key, signature.subarray(0, 63))).toBe(false)
    expect(isStrict(key, new Uint8Array([...signature, 0]))).toBe(false)
  })

  test('encode a y below p', () => {
    expect(isStrict(belowP, signature)).toBe(true)
    expect(isStrict(p, signature)).toBe(false)
    expect(isStrict(new Uint8Array(32).fill(0xff), signature)).toBe(false)
  })

  test('have a scalar below the order of the group, down to its last byte', () => {
    const order = '1000000000000000000000000000000014def9dea2f79cd65812631a5cf5d3ed'
    const littleEndian = Uint8Array.from(Buffer.from(order, 'hex').reverse())
    const withScalar = (scalar: Uint8Array) => new Uint8Array([...signature.subarray(0, 32), ...scalar])
    expect(isStrict(key, withScalar(littleEndian))).toBe(false)
    const below = Uint8Array.from(littleEndian, (byte, i) => (i === 0 ? byte - 1 : byte))
    expect(isStrict(key, withScalar(below))).toBe(true)
  })
})

describe.each([
  ['the engine of the machine', node],
  ['the portable engine', portable],
])('%s', (_, engine) => {
  test('refuses a key that is no point of the curve, also on other threads', async () => {
    expect(isStrict(offCurve, signature)).toBe(true)
    expect(engine.verify(offCurve, message, signature)).toBe(false)
    expect(await engine.verifyAsync(offCurve, message, signature)).toBe(false)
  })

  test('refuses bytes of another length, also on other threads', async () => {
    expect(engine.verify(key.subarray(1), message, signature)).toBe(false)
    expect(await engine.verifyAsync(key, message, signature.subarray(1))).toBe(false)
    expect(await engine.verifyAsync(key, message, signature)).toBe(true)
  })
})
