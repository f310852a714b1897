import { describe, expect, test } from 'vitest'
import { sign } from '../crypto/engine.node.ts'
import { fromBase64url, fromHex, toBase64url, utf8 } from '../encoding/bytes.ts'
import { canonicalJson, type JsonValue } from '../encoding/json.ts'
import { fixture } from '../testing/agents.ts'
import {
  type AgentCard,
  cardKeys,
  cardTerms,
  cardText,
  keptCard,
  signCard,
  type UnsignedCard,
  verifyCard,
} from './card.ts'
import { decodeKel, incept, rotate, verifyKel } from './kel.ts'

const seed = new Uint8Array(32).fill(1)
const nextSeed = new Uint8Array(32).fill(2)
const log = incept({ seed, nextSeed, ts: 1_000_000 })
const baseUrl = 'https://hub.example'
const signer = { seed, aid: log.aid, seq: log.seq, baseUrl }
const card: UnsignedCard = {
  name: 'Translator',
  description: 'Translates short texts.',
  version: '1.0.0',
  supportedInterfaces: [{ url: 'https://a.example/a2a', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
  capabilities: {
    streaming: false,
    extensions: [{ uri: 'https://svc.example/ext', params: { aid: log.aid } }],
  },
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [
    {
      id: 'translate',
      name: 'Translate',
      description: 'One language into another.',
      tags: ['text', 'language'],
    },
  ],
}
const signed = signCard(card, signer)

/** The card with another protected header, signed correctly. */
function withHeader(more: Record<string, JsonValue>): AgentCard {
  const header = {
    alg: 'EdDSA',
    typ: 'JOSE',
    kid: `${log.aid}#0`,
    jku: `${baseUrl}/agents/${log.aid}/jwks.json`,
    ...more,
  }
  const protectedText = toBase64url(utf8(canonicalJson(header)))
  const input = utf8(`${protectedText}.${toBase64url(utf8(canonicalJson(card as JsonValue)))}`)
  return { ...card, signatures: [{ protected: protectedText, signature: toBase64url(sign(seed, input)) }] }
}

describe('the vectors', () => {
  type Vector = { reason: string; card: AgentCard; canonical: string }
  const vectors = fixture<{
    base_url: string
    seed: string
    kel: string
    jwks: unknown
    valid: Vector[]
    invalid: Vector[]
  }>('card/cards.json')
  const owner = verifyKel(decodeKel(fromHex(vectors.kel)))
  const signs = { seed: fromHex(vectors.seed), aid: owner.aid, seq: owner.seq, baseUrl: vectors.base_url }

  test.each(vectors.valid)('a card with $reason verifies and is signed again to the same bytes', vector => {
    expect(verifyCard(vector.card, owner, vectors.base_url)).toEqual(vector.card)
    const { signatures: _, ...unsigned } = vector.card
    expect(canonicalJson(unsigned as JsonValue)).toBe(vector.canonical)
    expect(signCard(unsigned, signs)).toEqual(vector.card)
  })

  test.each(vectors.invalid)('a card is refused: $reason', ({ card }) => {
    expect(verifyCard(card, owner, vectors.base_url)).toBeUndefined()
  })

  test('name the one key that they are signed with', () => {
    expect(cardKeys(owner)).toEqual(vectors.jwks)
  })
})

describe('a card', () => {
  test('verifies under the present key of its agent, at the hub that it names', () => {
    expect(verifyCard(signed, log, baseUrl)).toEqual(signed)
    expect(verifyCard(withHeader({}), log, baseUrl)).toBeDefined()
    expect(verifyCard(signed, log, 'https://other.example')).toBeUndefined()
  })

  test('does not outlive a rotation', () => {
    const rotated = rotate(log, { seed: nextSeed, nextSeed: seed, ts: 2_000_000 })
    expect(verifyCard(signed, rotated, baseUrl)).toBeUndefined()
    const again = signCard(card, { ...signer, seed: nextSeed, seq: rotated.seq })
    expect(verifyCard(again, rotated, baseUrl)).toEqual(again)
  })

  test.each([
    ['alg none', { alg: 'none' }],
    ['another algorithm', { alg: 'HS256' }],
    ['another type', { typ: 'JWT' }],
    ['crit', { crit: ['exp'] }],
    ['jwk', { jwk: { kty: 'OKP' } }],
    ['x5u', { x5u: 'https://x.example' }],
    ['b64', { b64: false }],
    ['a foreign jku', { jku: 'https://evil.example/jwks.json' }],
    ['another kid', { kid: `${log.aid}#1` }],
  ])('is refused with %s in its protected header', (_, more) => {
    expect(verifyCard(withHeader(more), log, baseUrl)).toBeUndefined()
  })

  test.each([
    ['an empty text', { description: '' }],
    ['an empty list', { skills: [] }],
    ['an empty object', { capabilities: {} }],
    ['null', { iconUrl: null }],
    ['an unknown member', { price: 3 }],
    ['null deep inside', { capabilities: { extensions: [{ uri: 'u', params: { a: { b: null } } }] } }],
    ['something empty deep inside', { capabilities: { extensions: [{ uri: 'u', params: { a: [''] } }] } }],
    [
      'a name that the common SDK loses',
      JSON.parse('{"capabilities":{"extensions":[{"uri":"u","params":{"a":{"__proto__":"x"}}}]}}'),
    ],
    ['a false that the common SDK drops', { capabilities: { extensions: [{ uri: 'u', required: false }] } }],
  ])('is refused with %s, where its two canonical forms differ', (_, more) => {
    const changed = { ...card, ...more } as unknown as UnsignedCard
    expect(() => signCard(changed, signer)).toThrow(/invalid card/)
    const protectedText = signed.signatures[0]?.protected ?? ''
    const input = utf8(`${protectedText}.${toBase64url(utf8(canonicalJson(changed as JsonValue)))}`)
    const forged = {
      ...changed,
      signatures: [{ protected: protectedText, signature: toBase64url(sign(seed, input)) }],
    }
    expect(verifyCard(forged, log, baseUrl)).toBeUndefined()
  })

  test('is refused when anything in it was changed, or the signature is none', () => {
    expect(verifyCard({ ...signed, name: 'Other' }, log, baseUrl)).toBeUndefined()
    const [given] = signed.signatures
    const bytes = fromBase64url(given?.signature ?? '').slice()
    bytes[0] = (bytes[0] as number) ^ 1
    const bad = {
      ...signed,
      signatures: [{ protected: given?.protected ?? '', signature: toBase64url(bytes) }],
    }
    expect(verifyCard(bad, log, baseUrl)).toBeUndefined()
    for (const value of [
      null,
      'card',
      [],
      {},
      { ...signed, signatures: [] },
      { ...signed, signatures: [given, given] },
    ])
      expect(verifyCard(value, log, baseUrl)).toBeUndefined()
  })

  test('is kept as its canonical form and found by skills and tags', () => {
    expect(keptCard(cardText(signed))).toEqual(signed)
    expect(cardTerms(signed)).toEqual({ skills: ['translate'], tags: ['text', 'language'] })
  })

  test('has a key set with the present key alone', () => {
    const { keys } = cardKeys(log)
    expect(keys).toEqual([
      {
        kty: 'OKP',
        crv: 'Ed25519',
        x: toBase64url(log.publicKey),
        kid: `${log.aid}#0`,
        alg: 'EdDSA',
        use: 'sig',
      },
    ])
  })
})
