import { describe, expect, test } from 'vitest'
import { fromHex, Malformed, toHex } from '../encoding/bytes.ts'
import { MESSAGES_MAX } from '../proof/receipt.ts'
import { fixture } from '../testing/agents.ts'
import { Numbers } from './numbers.ts'

const { valid, invalid } = fixture<{
  valid: { name: string; bytes: string }[]
  invalid: { bytes: string; reason: string }[]
}>('seal/numbers.json')

describe('numbers held', () => {
  test.each(valid)('are a $name that decodes and encodes to the same bytes', ({ bytes }) => {
    expect(toHex(Numbers.encode(Numbers.decode(fromHex(bytes))))).toBe(bytes)
  })

  test.each(invalid)('are refused: $reason', ({ bytes }) => {
    expect(() => Numbers.decode(fromHex(bytes))).toThrow(Malformed)
  })

  test('make nobody count above the messages that an interaction takes', () => {
    const interactionId = new Uint8Array(16)
    const asks = [{ interactionId, after: MESSAGES_MAX + 1, held: 0 }]
    expect(() => Numbers.encode({ restoredAtMs: 1, asks })).toThrow(Malformed)
    const holds = [{ interactionId, highest: MESSAGES_MAX + 1, digests: [] }]
    expect(() => Numbers.encode({ answers: interactionId, holds, since: [] })).toThrow(Malformed)
  })
})
