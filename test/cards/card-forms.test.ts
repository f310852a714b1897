/** Our reading of a card beside the stock A2A SDK's: whatever we accept has one canonical form (hub API §4.3). */

import { canonicalizeAgentCard, type AgentCard as SdkCard, verifyAgentCardSignature } from '@a2a-js/sdk'
import { DefaultAgentCardResolver } from '@a2a-js/sdk/client'
import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { canonicalJson, type JsonValue } from '../../protocol/encoding/json.ts'
import { cardKeys, signCard, UnsignedCard, verifyCard } from '../../protocol/identity/card.ts'
import { incept } from '../../protocol/identity/kel.ts'
import { fixture } from '../../protocol/testing/agents.ts'

const RUNS = 500
const seed = new Uint8Array(32).fill(3)
const log = incept({ seed, nextSeed: new Uint8Array(32).fill(4), ts: 1_000_000 })
const baseUrl = 'https://hub.example'
const signer = { seed, aid: log.aid, seq: log.seq, baseUrl }

const plain: UnsignedCard = {
  name: 'Translator',
  description: 'Translates short texts.',
  version: '1.0.0',
  supportedInterfaces: [{ url: 'https://a.example/a2a', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
  capabilities: { streaming: false },
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [{ id: 'translate', name: 'Translate', description: 'Languages.', tags: ['text'] }],
}
const scopes = { read: 'Reads.' }
const oauth2 = (flows: object) => ({ oauth2SecurityScheme: { flows } })
const needs = (list: string[]) => [{ schemes: { main: { list } } }]

const schemes: Record<string, object> = {
  'an API key': { apiKeySecurityScheme: { location: 'header', name: 'X-Key' } },
  'HTTP authentication': { httpAuthSecurityScheme: { scheme: 'Bearer', bearerFormat: 'JWT' } },
  'OpenID Connect': { openIdConnectSecurityScheme: { openIdConnectUrl: 'https://o.example' } },
  'mutual TLS': { mtlsSecurityScheme: { description: 'A certificate of ours.' } },
  'OAuth2 with an authorization code': oauth2({
    authorizationCode: { authorizationUrl: 'https://a', tokenUrl: 'https://t', scopes, pkceRequired: true },
  }),
  'OAuth2 with client credentials': oauth2({
    clientCredentials: { tokenUrl: 'https://t', refreshUrl: 'https://r', scopes },
  }),
  'OAuth2 with the implicit flow': oauth2({ implicit: { authorizationUrl: 'https://a', scopes } }),
  'OAuth2 with a password': oauth2({ password: { tokenUrl: 'https://t', scopes } }),
  'OAuth2 with a device code': oauth2({
    deviceCode: { deviceAuthorizationUrl: 'https://d', tokenUrl: 'https://t', scopes },
  }),
}

describe('security schemes', () => {
  const verify = verifyAgentCardSignature(async () => cardKeys(log).keys[0] as never)
  const withScheme = (scheme: object, more: object = {}) =>
    ({ ...plain, securitySchemes: { main: scheme }, ...more }) as unknown as UnsignedCard

  test.each(Object.entries(schemes))('of a card may be %s: both sides verify it', async (_, scheme) => {
    const card = signCard(withScheme(scheme, { securityRequirements: needs(['read']) }), signer)
    expect(verifyCard(card, log, baseUrl)).toEqual(card)
    await expect(verify(card as unknown as SdkCard)).resolves.toBeUndefined()
  })

  test('are lost by the resolver of this SDK release, which reads a card twice: it has to verify what it was served', async () => {
    vi.spyOn(console, 'debug').mockImplementation(() => undefined)
    const card = signCard(withScheme(schemes['an API key'] as object), signer)
    const resolver = new DefaultAgentCardResolver({ fetchImpl: async () => Response.json(card) })
    const read = await resolver.resolve('https://hub.example')
    await expect(verify(read)).rejects.toThrow('No valid signatures')
    vi.restoreAllMocks()
  })

  test.each<[string, object, object?]>([
    ['two schemes under one name', { ...schemes['an API key'], ...schemes['mutual TLS'] }],
    [
      'two flows',
      oauth2({ password: { tokenUrl: 't', scopes }, implicit: { authorizationUrl: 'a', scopes } }),
    ],
    ['a flow without scopes', oauth2({ password: { tokenUrl: 't', scopes: {} } })],
    [
      'a false that the SDK drops',
      oauth2({ authorizationCode: { authorizationUrl: 'a', tokenUrl: 't', scopes, pkceRequired: false } }),
    ],
    ['a scheme with nothing in it', { mtlsSecurityScheme: {} }],
    ['an unknown scheme', { bloodSecurityScheme: { description: 'x' } }],
    ['no scheme at all', schemes['mutual TLS'] as object, { securitySchemes: {} }],
    ['a requirement without scopes', schemes['an API key'] as object, { securityRequirements: needs([]) }],
  ])('with %s refuse the card', (_, scheme, more) => {
    expect(() => signCard(withScheme(scheme, more), signer)).toThrow(/invalid card/)
  })
})

describe('the vectors', () => {
  type Vectors = { jwks: { keys: object[] }; valid: { reason: string; card: SdkCard; canonical: string }[] }
  const { jwks, valid } = fixture<Vectors>('card/cards.json')
  const verify = verifyAgentCardSignature(async () => jwks.keys[0] as never)

  test.each(valid)('of a card with $reason verify in the stock SDK, over the same form', async vector => {
    expect(canonicalizeAgentCard(vector.card)).toBe(vector.canonical)
    await expect(verify(vector.card)).resolves.toBeUndefined()
  })
})

describe('the canonical form', () => {
  const word = fc.oneof(
    fc.string({ minLength: 1, maxLength: 6 }),
    fc.constantFrom('', '__proto__', 'toJSON', 'é', '𝄞'),
  )
  const words = fc.array(word, { minLength: 1, maxLength: 3 })
  const anyJson = fc.letrec<{ value: unknown }>(tie => ({
    value: fc.oneof(
      { maxDepth: 3 },
      word,
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.boolean(),
      fc.constant(null),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(word, tie('value'), { maxKeys: 3 }),
    ),
  })).value
  const security = fc.constantFrom(...Object.values(schemes), {}, { mtlsSecurityScheme: { description: '' } })
  const extension = fc.record(
    {
      uri: word,
      description: word,
      required: fc.boolean(),
      params: fc.dictionary(word, anyJson, { maxKeys: 3 }),
    },
    { requiredKeys: ['uri'] },
  )
  const skill = fc.record(
    { id: word, name: word, description: word, tags: words, examples: words, inputModes: words },
    { requiredKeys: ['id', 'name', 'description', 'tags'] },
  )
  // One member changed at a time, or hardly any card would be accepted.
  const change = fc.oneof(
    fc.record({ name: word }),
    fc.record({ skills: fc.array(skill, { minLength: 1, maxLength: 2 }) }),
    fc.record({
      capabilities: fc.record({ extensions: fc.array(extension, { minLength: 1, maxLength: 2 }) }),
    }),
    fc.record({ provider: fc.record({ url: word, organization: word }) }),
    fc.record({ securitySchemes: fc.dictionary(word, security, { minKeys: 1, maxKeys: 2 }) }),
    fc.record({
      securityRequirements: fc.array(
        fc.record({ schemes: fc.dictionary(word, fc.record({ list: words }), { minKeys: 1, maxKeys: 2 }) }),
        { minLength: 1, maxLength: 2 },
      ),
    }),
  )

  test(`of every card that we accept is the SDK's (${RUNS} runs)`, () => {
    let accepted = 0
    fc.assert(
      fc.property(change, more => {
        const read = UnsignedCard.safeParse({ ...plain, ...more })
        if (!read.success) return
        accepted += 1
        expect(canonicalizeAgentCard(read.data as unknown as SdkCard)).toBe(
          canonicalJson(read.data as JsonValue),
        )
      }),
      { numRuns: RUNS },
    )
    expect(accepted).toBeGreaterThan(RUNS / 5)
  })
})
