import { describe, expect, test } from 'vitest'
import { publicKey, sha256, sign } from '#crypto'
import { concat, Malformed, toBase64, toHex, utf8 } from '../encoding/bytes.ts'
import { agent, fixture } from '../testing/agents.ts'
import { checkpointText, supplyOrigin } from './checkpoint.ts'
import { checkpointOffer, cosignatureIn, cosignedAtMs, parseVerifierKey } from './cosignature.ts'

const { identitySeed: seed, aid } = agent('witness')
const name = 'witness.example/w1'
const typed = concat(Uint8Array.of(4), publicKey(seed))
const keyHash = sha256(concat(utf8(`${name}\n`), typed)).subarray(0, 4)
const verifierKey = `${name}+${toHex(keyHash)}+${toBase64(typed)}`
const text = checkpointText(supplyOrigin(aid), { size: 3, root: sha256(utf8('tree')) })

function lineBy(seconds: number, { of = text, by = name, key = seed, hash = keyHash } = {}): string {
  const time = new Uint8Array(8)
  new DataView(time.buffer).setBigUint64(0, BigInt(seconds))
  const signature = sign(key, utf8(`cosignature/v1\ntime ${seconds}\n${of}`))
  return `— ${by} ${toBase64(concat(hash, time, signature))}\n`
}

describe('a cosignature', () => {
  const cosigner = parseVerifierKey(verifierKey)

  test('is found among the lines of an answer', () => {
    const line = lineBy(1_679_315_147)
    expect(cosignatureIn(line, text, cosigner)).toBe(line)
    expect(cosignatureIn(`— other.example AAAA\nnothing\n${line}`, text, cosigner)).toBe(line)
  })

  test.each([
    ['of another text', lineBy(1, { of: text.replace('\n3\n', '\n4\n') })],
    ['by another name', lineBy(1, { by: 'other.example' })],
    ['by another key', lineBy(1, { key: agent('other').identitySeed })],
    ['with another key hash', lineBy(1, { hash: Uint8Array.of(1, 2, 3, 4) })],
    ['that is cut', `${lineBy(1).slice(0, -8)}\n`],
    ['that is no base64', `— ${name} !!!!\n`],
    ['that is not there', ''],
  ])('%s is none', (_, answer) => {
    expect(cosignatureIn(answer, text, cosigner)).toBeUndefined()
  })
})

describe('a verifier key', () => {
  test('holds name, key and the hash of both', () => {
    expect(parseVerifierKey(verifierKey)).toEqual({ name, key: publicKey(seed), keyHash })
  })

  test.each([
    ['nothing', ''],
    ['another hash', verifierKey.replace(toHex(keyHash), '00000000')],
    ['another name', verifierKey.replace('w1', 'w2')],
    [
      'a key of another type',
      `${name}+${toHex(keyHash)}+${toBase64(concat(Uint8Array.of(1), publicKey(seed)))}`,
    ],
    ['a key that is too short', `${name}+${toHex(keyHash)}+${toBase64(typed.subarray(1))}`],
  ])('with %s is refused', (_, wrong) => {
    expect(() => parseVerifierKey(wrong)).toThrow(Malformed)
  })
})

test('an offer is the old size, the proof, a blank line and the note', () => {
  const [one, two] = [sha256(utf8('1')), sha256(utf8('2'))]
  expect(checkpointOffer(7, [one, two], 'note\n')).toBe(`old 7\n${toBase64(one)}\n${toBase64(two)}\n\nnote\n`)
  expect(checkpointOffer(0, [], 'note\n')).toBe('old 0\n\nnote\n')
})

describe('a recorded cosignature', () => {
  const { valid, cosignatures: vectors } = fixture<{
    valid: { note: string }[]
    cosignatures: {
      verifierKey: string
      valid: { reason: string; line: string; seconds: number }[]
      invalid: { reason: string; line: string }[]
      invalidKeys: { reason: string; key: string }[]
    }
  }>('payment/checkpoints.json')
  const [text = ''] = valid.map(({ note }) => note.slice(0, note.indexOf('\n\n') + 1))
  const recorded = parseVerifierKey(vectors.verifierKey)

  test.each(vectors.valid)('holds $reason', ({ line, seconds }) => {
    expect(cosignatureIn(line, text, recorded)).toBe(line)
    expect(cosignedAtMs(line)).toBe(seconds * 1000)
  })

  test.each(vectors.invalid)('does not hold: $reason', ({ line }) => {
    expect(cosignatureIn(line, text, recorded)).toBeUndefined()
  })

  test.each(vectors.invalidKeys)('has no verifier key with $reason', ({ key }) => {
    expect(() => parseVerifierKey(key)).toThrow(Malformed)
  })
})
