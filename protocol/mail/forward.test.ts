import fc from 'fast-check'
import { expect, test } from 'vitest'
import { publicKey, verify } from '#crypto'
import { fromHex, toHex } from '../encoding/bytes.ts'
import { fixture, seeded } from '../testing/agents.ts'
import { type Forward, forwardText, signForward } from './forward.ts'

type Vector = { forward: Forward; publicKey: string; signature: string; reason: string }
const { valid, unsigned } = fixture<{
  valid: (Vector & { seed: string; text: string })[]
  unsigned: Vector[]
}>('open/forwards.json')

const holds = ({ forward, publicKey: key, signature }: Vector) =>
  verify(fromHex(key), forwardText(forward), fromHex(signature))

test(`${valid.length} records have the bytes and the signature of their vectors`, () => {
  for (const vector of valid) {
    expect(toHex(forwardText(vector.forward))).toBe(vector.text)
    expect(toHex(signForward(fromHex(vector.seed), vector.forward))).toBe(vector.signature)
    expect(holds(vector), vector.reason).toBe(true)
  }
})

test(`${unsigned.length} records hold under no signature of theirs`, () => {
  for (const vector of unsigned) expect(holds(vector), vector.reason).toBe(false)
})

test('no two records have the same bytes', () => {
  const text = fc.string({ maxLength: 9 })
  const record = fc.record<Forward>({
    ...{ v: fc.nat(), origin: text, dest: text, from: text, kind: text, interaction: text, payloadCid: text },
    ...{ hop: fc.nat(), seenHubs: fc.array(text, { maxLength: 3 }), ts: fc.nat(), kelSeq: fc.nat() },
  })
  const seed = seeded('forward property')(32)
  fc.assert(
    fc.property(record, record, (one, other) => {
      const isSame =
        JSON.stringify(Object.entries(one).sort()) === JSON.stringify(Object.entries(other).sort())
      expect(toHex(forwardText(one)) === toHex(forwardText(other))).toBe(isSame)
      expect(verify(publicKey(seed), forwardText(other), signForward(seed, one))).toBe(isSame)
    }),
  )
})
