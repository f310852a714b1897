import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { contentId } from '../crypto/hash.ts'
import { fromHex, Malformed, toHex, utf8 } from '../encoding/bytes.ts'
import { canonicalJson, type JsonValue, parseJson } from '../encoding/json.ts'
import { present } from '../encoding/present.ts'
import { anyUint, checkByteFormat, fixture } from '../testing/agents.ts'
import { documentCid } from './documents.ts'
import {
  buildEffect,
  Effect,
  EffectRecord,
  Evidence,
  isVerifiable,
  lowerTrust,
  renderEffect,
  renderEvidence,
  statuses,
  tierOf,
  withTiers,
} from './effect.ts'

type Trust = 0 | 1 | 2 | 3 | 4
const vectors = fixture<{
  rendered: { reason: string; effect: string; rendered: string; cid: string; verifiable: boolean }[]
  built: { reason: string; given: string; built: string }[]
  lowered: {
    claimed: { verifyTrust?: Trust; authTrust?: Trust }
    verify?: Trust
    auth?: Trust
    verifyTrust: Trust
    authTrust: Trust
  }[]
  invalid: { reason: string; effect: string }[]
  tiers: { axis: 'V' | 'A'; written: unknown; tier: Trust | null }[]
}>('effect/effects.json')
const read = (hex: string) => Effect.decode(fromHex(hex))

describe('an effect', () => {
  test('has one of five statuses, numbered from 1', () => {
    expect(statuses).toEqual(['OK', 'UNVERIFIED', 'FAILED', 'UNAVAILABLE', 'PAYMENT_REQUIRED'])
    const numbers = statuses.map(status => Effect.encode({ status, message: '' })[2])
    expect(numbers).toEqual([1, 2, 3, 4, 5])
  })

  test.each(vectors.rendered)('renders to the same bytes for ever: $reason', vector => {
    const effect = read(vector.effect)
    expect(renderEffect(effect)).toBe(vector.rendered)
    expect(documentCid(utf8(vector.rendered))).toBe(vector.cid)
    expect(isVerifiable(effect)).toBe(vector.verifiable)
    expect(toHex(Effect.encode(effect))).toBe(vector.effect)
  })

  test('renders its members in sorted order, at every depth', () => {
    for (const { rendered } of vectors.rendered) expect(canonicalJson(parseJson(rendered))).toBe(rendered)
  })

  test.each(vectors.invalid)('is refused with $reason', ({ effect }) => {
    expect(() => read(effect)).toThrow(Malformed)
  })

  test.each(vectors.built)('is built under the rules: $reason', ({ given, built }) => {
    expect(buildEffect(read(given))).toEqual(read(built))
    expect(buildEffect(buildEffect(read(given)))).toEqual(read(built))
  })

  test('an empty map of metrics or list of artifacts is nothing that could be checked', () => {
    const evidence: Evidence = { verifyTrust: 4 }
    for (const record of [{ metrics: {} }, { artifacts: [] }, { metrics: {}, artifacts: [] }, {}]) {
      const built = buildEffect({ status: 'OK', message: '', record, evidence })
      expect(built.status).toBe('UNVERIFIED')
      expect(built.record).toBeUndefined()
    }
    const mixed = buildEffect({
      status: 'OK',
      message: '',
      record: { metrics: { a: 1 }, artifacts: [] },
      evidence,
    })
    expect(mixed).toMatchObject({ status: 'OK', record: { metrics: { a: 1 } } })
    expect(read(toHex(Effect.encode(mixed)))).toEqual(mixed)
  })

  test('OK is never claimed below V2 or without a record, whatever was given', () => {
    fc.assert(
      fc.property(anyEffect, given => {
        const built = buildEffect(given)
        if (built.status !== 'OK') return
        expect(isVerifiable(built)).toBe(true)
        expect(built.evidence?.verifyTrust).toBeGreaterThanOrEqual(2)
        expect(given.status).toBe('OK')
      }),
    )
  })
})

describe('the trust axes', () => {
  test.each(vectors.lowered)('$claimed, capped at V$verify and A$auth', vector => {
    const { claimed, verify, auth, verifyTrust, authTrust } = vector
    const cap = { ...present({ verify, auth }) }
    expect(lowerTrust(claimed, cap)).toEqual({ ...claimed, verifyTrust, authTrust })
  })

  test.each(vectors.tiers)('$axis: $written is read as $tier', ({ axis, written, tier }) => {
    expect(tierOf(axis, written) ?? null).toBe(tier)
  })

  test('are shown as numbers, by whatever names somebody wrote them', () => {
    const shown = (verify_trust: unknown, auth_trust: unknown) =>
      withTiers({ status: 'OK', evidence: { verify_trust, auth_trust, quirk: 'q' } })['evidence']
    expect(shown('T3', 'A2')).toEqual({ verify_trust: 3, auth_trust: 2, quirk: 'q' })
    expect(shown('certain', 'T4')).toEqual({ verify_trust: 0, auth_trust: 0, quirk: 'q' })
    expect([withTiers({}), withTiers({ evidence: [] })]).toEqual([{}, { evidence: [] }])
  })

  test('no stage raises them', () => {
    const axis = fc.constantFrom<Trust>(0, 1, 2, 3, 4)
    fc.assert(
      fc.property(anyEvidence, axis, axis, (claimed, verify, auth) => {
        const lowered = lowerTrust(claimed, { verify, auth })
        expect(lowered.verifyTrust).toBeLessThanOrEqual(Math.min(claimed.verifyTrust ?? 0, verify))
        expect(lowered.authTrust).toBeLessThanOrEqual(Math.min(claimed.authTrust ?? 0, auth))
      }),
    )
  })
})

describe('evidence as it is shown', () => {
  test('always has both trust axes, and everything else only when it says something', () => {
    expect(renderEvidence()).toEqual({ verify_trust: 0, auth_trust: 0 })
    fc.assert(
      fc.property(anyEvidence, evidence => {
        const shown: Record<string, JsonValue> = renderEvidence(evidence)
        expect(shown).toMatchObject({
          verify_trust: evidence.verifyTrust ?? 0,
          auth_trust: evidence.authTrust ?? 0,
        })
        for (const [name, value] of Object.entries(shown)) {
          if (name === 'latency_ms') expect(value).toBeGreaterThan(0)
          else if (!name.endsWith('_trust')) expect([true, expect.stringMatching(/./s)]).toContainEqual(value)
        }
      }),
    )
  })
})

const anyText = fc.string({ maxLength: 8 })
const anyTrust = fc.constantFrom<Trust>(0, 1, 2, 3, 4)
const anyEvidence: fc.Arbitrary<Evidence> = fc.record(
  {
    requested: anyText,
    protocol: anyText,
    nativeAck: fc.boolean(),
    observedState: anyText,
    latencyMs: fc.maxSafeInteger(),
    verifyTrust: anyTrust,
    authTrust: anyTrust,
    quirk: anyText,
  },
  { requiredKeys: [] },
)
const anyMetric = fc
  .double({ noNaN: true, noDefaultInfinity: true })
  .map(value => (Object.is(value, -0) ? 0 : value))
const optionally = { requiredKeys: [] }
const anyResource = fc.record({ kind: anyText, id: anyText, mergeClass: anyText }, optionally)
const anyRecord: fc.Arbitrary<EffectRecord> = fc.record(
  {
    artifacts: fc.array(
      fc.record(
        {
          path: anyText,
          sizeBytes: anyUint,
          contentCid: fc.uint8Array({ maxLength: 4 }).map(contentId),
          mediaType: anyText,
        },
        optionally,
      ),
      { minLength: 1, maxLength: 2 },
    ),
    tests: fc.array(fc.record({ id: anyText, status: fc.constantFrom<1 | 2 | 3>(1, 2, 3) }, optionally), {
      minLength: 1,
      maxLength: 2,
    }),
    metrics: fc.dictionary(anyText, anyMetric, { minKeys: 1, maxKeys: 3, noNullPrototype: true }),
    resources: fc.array(anyResource, { minLength: 1, maxLength: 2 }),
    effects: fc.array(
      fc.record(
        { verb: fc.constantFrom<1 | 2 | 3 | 4 | 5>(1, 2, 3, 4, 5), resource: anyResource },
        optionally,
      ),
      { minLength: 1, maxLength: 2 },
    ),
  },
  optionally,
)
const anyEffect: fc.Arbitrary<Effect> = fc.record(
  { status: fc.constantFrom(...statuses), record: anyRecord, message: anyText, evidence: anyEvidence },
  { requiredKeys: ['status', 'message'] },
)

describe('the three properties of a byte format hold', () => {
  test('for effects', () => checkByteFormat(Effect, anyEffect))
  test('for effect records', () => checkByteFormat(EffectRecord, anyRecord, 100))
  test('for evidence', () => checkByteFormat(Evidence, anyEvidence))
})
