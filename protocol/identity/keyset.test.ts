import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fromHex, Malformed, toHex } from '../encoding/bytes.ts'
import { agent, anyAid, anyUint, bytesOf, checkByteFormat, fixture, NOW_MS } from '../testing/agents.ts'
import { deactivate, decodeKel, incept, verifyKel } from './kel.ts'
import {
  KeySet,
  type KeySetBody,
  KeyStateNotice,
  type KeyStateNoticeBody,
  keySetVerdict,
  kidOf,
  noticeAgrees,
  sealingKey,
  verifyKeySet,
} from './keyset.ts'

const sets = fixture<{
  kel: string
  kids: { publicKey: string; kid: string }[]
  valid: { reason: string; set: string; body: Record<string, unknown> }[]
  invalid: { reason: string; fault: string; set: string }[]
  order: {
    reason: string
    stored: string | null
    submitted: string
    prevSeq: number | null
    verdict: string
  }[]
  sealing: { set: string; cases: { reason: string; now: number; kid: string | null }[] }
}>('keyset/sets.json')
const notices = fixture<{
  kel: string
  hubKel: string
  cases: { reason: string; verdict: string; notice: string }[]
}>('keyset/notices.json')

const readLog = (hex: string) => verifyKel(decodeKel(fromHex(hex)))
const readSet = (hex: string) => KeySet.decode(fromHex(hex))
const log = readLog(sets.kel)

function printed(body: KeySetBody): unknown {
  return {
    ...body,
    v: undefined,
    keys: body.keys.map(key => ({ ...key, kid: toHex(key.kid), publicKey: toHex(key.publicKey) })),
    mailboxKey: toHex(body.mailboxKey),
    mailboxEpoch: toHex(body.mailboxEpoch),
  }
}

describe('a key set', () => {
  test.each(sets.valid)('holds: $reason', ({ set, body }) => {
    const verified = verifyKeySet(log, readSet(set))
    expect(printed(verified.body)).toEqual(body)
    expect(toHex(KeySet.encode(verified))).toBe(set)
  })

  test.each(sets.invalid)('is refused: $reason', ({ fault, set }) => {
    const read = () => verifyKeySet(log, readSet(set))
    if (fault === 'malformed') expect(read).toThrow(Malformed)
    else expect(read).toThrow(expect.objectContaining({ name: 'KeySetInvalid', code: fault }))
  })

  test('of a key state that was rotated away is refused, also when it held before', () => {
    const { log: before, keySet } = agent('keyset bob')
    expect(before.aid).toBe(log.aid)
    expect(verifyKeySet(before, keySet)).toBe(keySet)
    expect(() => verifyKeySet(log, keySet)).toThrow(expect.objectContaining({ code: 'kel_seq' }))
  })

  test('under the last event of a deactivated log is refused, though its key signed it', () => {
    const seeds = [1, 2].map(n => new Uint8Array(32).fill(n)) as [Uint8Array, Uint8Array]
    const alive = incept({ seed: seeds[0], nextSeed: seeds[1], ts: 1 })
    const ended = deactivate(alive, { seed: seeds[1], ts: 2 })
    const { body } = agent('keyset bob').keySet
    const of = (seed: Uint8Array, kelSeq: number) => KeySet.sign(seed, { ...body, aid: alive.aid, kelSeq })
    expect(verifyKeySet(alive, of(seeds[0], 0))).toBeDefined()
    expect(() => verifyKeySet(ended, of(seeds[1], 1))).toThrow(
      expect.objectContaining({ code: 'deactivated' }),
    )
  })

  test('names each key by eight bytes of its labelled hash', () => {
    for (const { publicKey, kid } of sets.kids) expect(toHex(kidOf(fromHex(publicKey)))).toBe(kid)
  })
})

describe('a set put beside the stored one', () => {
  test.each(sets.order)('$reason: $verdict', ({ stored, submitted, prevSeq, verdict }) => {
    const held = stored === null ? undefined : readSet(stored)
    const row = held && { kelSeq: held.body.kelSeq, setSeq: held.body.setSeq, bodyBytes: held.bodyBytes }
    expect(keySetVerdict(row, readSet(submitted), prevSeq ?? undefined)).toBe(verdict)
  })
})

describe('the key to seal to', () => {
  const set = verifyKeySet(log, readSet(sets.sealing.set))
  test.each(sets.sealing.cases)('$reason', ({ now, kid }) => {
    const key = sealingKey(set, now)
    expect(key === undefined ? null : toHex(key.kid)).toBe(kid)
  })
})

describe('a notice of a key state', () => {
  const hub = readLog(notices.hubKel)
  test.each(notices.cases)('$reason: $verdict', ({ verdict, notice }) => {
    const read = () => noticeAgrees(KeyStateNotice.decode(fromHex(notice)), readLog(notices.kel), hub)
    if (verdict === 'malformed') expect(read).toThrow(Malformed)
    else expect(read()).toBe(verdict === 'agrees')
  })
})

describe('the three properties of a byte format hold', () => {
  const signer = agent('keyset properties')
  test('for key sets', () => {
    const key = fc.record({
      kid: bytesOf(8),
      suite: fc.constant(1 as const),
      publicKey: fc.nat(255).map(byte => new Uint8Array(1216).fill(byte)),
      notBefore: anyUint,
      notAfter: anyUint,
    })
    const body: fc.Arbitrary<KeySetBody> = fc.record({
      v: fc.constant(1 as const),
      aid: anyAid,
      kelSeq: anyUint,
      setSeq: anyUint,
      ts: anyUint,
      exp: anyUint,
      keys: fc.array(key, { minLength: 1, maxLength: 4 }),
      mailboxKey: bytesOf(32),
      mailboxEpoch: bytesOf(16),
      strangers: fc.record({ bytes: anyUint, perDay: anyUint }),
    })
    checkByteFormat(
      KeySet,
      body.map(value => KeySet.sign(signer.identitySeed, value)),
      60,
    )
  })

  test('for notices', () => {
    const body: fc.Arbitrary<KeyStateNoticeBody> = fc.record({
      aid: anyAid,
      seq: anyUint,
      headDigest: bytesOf(32),
      hubTs: fc.constant(NOW_MS),
      hub: anyAid,
      hubSeq: anyUint,
    })
    checkByteFormat(
      KeyStateNotice,
      body.map(value => KeyStateNotice.sign(signer.identitySeed, value)),
      100,
    )
  })
})
