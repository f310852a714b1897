import { describe, expect, test } from 'vitest'
import { aidOfInception } from '../identity/aid.ts'
import { aidShape, blobText, bytesText, count, millis, textShape } from './shapes.ts'

const takes = (shape: { safeParse(value: unknown): { success: boolean } }, value: unknown) =>
  shape.safeParse(value).success

describe('shapes of the route tables', () => {
  test.each([
    ['two bytes', 'AAE', true],
    ['three bytes', 'AAEC', false],
    ['one byte', 'AA', false],
    ['padding', 'AAE=', false],
    ['spare bits set', 'AAF', false],
    ['standard base64', '+/8', false],
    ['white space', 'AA E', false],
    ['bytes as a list', [0, 1], false],
    ['null', null, false],
  ])('a binary value of two bytes: %s', (_, value, verdict) => {
    expect(takes(bytesText(2), value)).toBe(verdict)
  })

  test('a binary value of at most so many bytes may be empty', () => {
    expect(takes(blobText(2), '')).toBe(true)
    expect(takes(blobText(2), 'AAE')).toBe(true)
    expect(takes(blobText(2), 'AAEC')).toBe(false)
  })

  test('a refusal says what was expected and nothing of the value', () => {
    const result = bytesText(16).safeParse('secret')
    expect(result.error?.issues.map(({ message }) => message)).toEqual([
      'expected 16 bytes as base64url without padding',
    ])
  })

  test('times and counts are whole, safe and not negative', () => {
    for (const shape of [millis, count]) {
      for (const value of [0, 1, Number.MAX_SAFE_INTEGER]) expect(takes(shape, value)).toBe(true)
      for (const value of [
        -1,
        1.5,
        Number.MAX_SAFE_INTEGER + 1,
        Number.POSITIVE_INFINITY,
        Number.NaN,
        '1',
        null,
      ])
        expect(takes(shape, value), String(value)).toBe(false)
    }
  })

  test('text is measured in UTF-8 bytes and well formed', () => {
    expect(takes(textShape(4), '\u{1f600}')).toBe(true)
    expect(takes(textShape(3), '\u{1f600}')).toBe(false)
    expect(takes(textShape(3), '€')).toBe(true)
    expect(takes(textShape(3), '\ud800')).toBe(false)
    expect(takes(textShape(0), '')).toBe(true)
    expect(takes(textShape(9), 1)).toBe(false)
  })

  test('an AID is an AID', () => {
    expect(takes(aidShape, aidOfInception(new Uint8Array(1)))).toBe(true)
    expect(takes(aidShape, 'AAAA')).toBe(false)
  })
})
