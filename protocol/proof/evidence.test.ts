import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { cidText, contentId } from '../crypto/hash.ts'
import { fromHex, Malformed, toHex, utf8 } from '../encoding/bytes.ts'
import { CborFloat, type CborMap, type CborValue, subMap } from '../encoding/cbor.ts'
import { decodeKel, keyAt, verifyKel } from '../identity/kel.ts'
import { agent, anyAid, anyUint, bytesOf, checkByteFormat, fixture, NOW_MS } from '../testing/agents.ts'
import {
  ChainInvalid,
  ChainRecord,
  chainDid,
  GENESIS,
  parseRecordLine,
  RECORD_BYTES_MAX,
  readRecord,
  recordLine,
  recordSignatureHolds,
  renderPayload,
  renderRecord,
  signRecord,
} from './evidence.ts'

type Recorded = {
  record: string
  line: string
  preimage: string
  id: string
  rendered: Record<string, unknown>
}
const chain = fixture<{
  kel: string
  chainDid: string
  genesis: { text: string; id: string; cid: string }
  records: [Recorded, Recorded, Recorded]
  alsoValid: { reason: string; record: string; id: string }[]
  place: { seq: number; previous: string; chainDid: string }
  invalid: { reason: string; fault: string; record: string }[]
  lines: { invalid: { reason: string; line: string }[] }
}>('evidence/chain.json')
const log = verifyKel(decodeKel(fromHex(chain.kel)))
const second = { ...chain.place, previous: fromHex(chain.place.previous) }

/** Everything a reader checks of one record. */
function check(bytes: Uint8Array, place = second): ReturnType<typeof readRecord> {
  const read = readRecord(bytes, place)
  const key = keyAt(log, read.record.keyStateSeq)
  if (key === undefined || !recordSignatureHolds(key, read)) throw new ChainInvalid('signature', place.seq)
  return read
}

describe('an evidence chain', () => {
  test('starts at the content id of a fixed text', () => {
    expect(toHex(GENESIS)).toBe(chain.genesis.id)
    expect(toHex(contentId(utf8(chain.genesis.text)))).toBe(chain.genesis.id)
    expect(cidText(GENESIS)).toBe(chain.genesis.cid)
  })

  test('links each record to the id of the one before, under the key of its key state', () => {
    let previous = GENESIS
    for (const [seq, { record, preimage, id }] of chain.records.entries()) {
      const read = check(fromHex(record), { seq, previous, chainDid: chain.chainDid })
      expect(toHex(read.preimage)).toBe(preimage)
      expect(toHex(read.record.id)).toBe(id)
      expect(toHex(contentId(fromHex(preimage)))).toBe(id)
      expect(toHex(ChainRecord.encode(read.record))).toBe(record)
      previous = read.record.id
    }
  })

  test('is a file of one base64 line a record', () => {
    for (const { record, line } of chain.records) {
      expect(recordLine(fromHex(record))).toBe(`${line}\n`)
      expect(toHex(parseRecordLine(line))).toBe(record)
    }
  })

  test.each(chain.lines.invalid)('has no line that is $reason', ({ line }) => {
    expect(() => parseRecordLine(line)).toThrow(Malformed)
  })

  test('shows a record with texts, ids and base64', () => {
    for (const { record, rendered } of chain.records)
      expect(renderRecord(ChainRecord.decode(fromHex(record)))).toEqual(rendered)
    const [, , accepted] = chain.records
    expect(accepted.rendered['payload']).toMatchObject({
      receipt_bytes: 'cmVjZWlwdA==',
      receipt_verified: true,
    })
  })
})

describe('a record in the second place', () => {
  test.each(chain.alsoValid)('holds: $reason', ({ record, id }) => {
    expect(toHex(check(fromHex(record)).record.id)).toBe(id)
  })

  test.each(chain.invalid)('is refused: $reason', ({ fault, record }) => {
    expect(() => check(fromHex(record))).toThrow(
      expect.objectContaining({ name: 'ChainInvalid', code: fault, seq: 1 }),
    )
  })

  test('is refused with any one bit flipped', () => {
    const { record } = chain.records[1]
    for (let at = 0; at < record.length / 2; at++) {
      const bytes = fromHex(record)
      bytes[at] = (bytes[at] as number) ^ (1 << (at % 8))
      expect(() => check(bytes), `byte ${at}`).toThrow(ChainInvalid)
    }
  })

  test('is refused when it is over 1 MiB', () => {
    expect(() => readRecord(new Uint8Array(RECORD_BYTES_MAX + 1), second)).toThrow(ChainInvalid)
  })

  test('is refused in every other place of its own chain', () => {
    const bytes = fromHex(chain.records[1].record)
    expect(() => readRecord(bytes, { ...second, seq: 2 })).toThrow(ChainInvalid)
    expect(() => readRecord(bytes, { ...second, previous: GENESIS })).toThrow(ChainInvalid)
    expect(() => readRecord(bytes, { ...second, chainDid: chainDid(agent('another').aid) })).toThrow(
      ChainInvalid,
    )
  })
})

describe('a signed record', () => {
  const signer = agent('evidence signer')
  const sign = (payload: CborValue) =>
    signRecord(signer.identitySeed, {
      signer: signer.aid,
      keyStateSeq: 0,
      seq: 0,
      previous: GENESIS,
      eventType: 'svc.shell.refused',
      payload,
      ts: NOW_MS,
    })

  test('is the same bytes whenever it is signed again', () => {
    const payload: CborMap = new Map([['reason', 'not in the allow list']])
    expect(toHex(sign(payload).bytes)).toBe(toHex(sign(payload).bytes))
    const place = { seq: 0, previous: GENESIS, chainDid: chainDid(signer.aid) }
    expect(recordSignatureHolds(signer.log.publicKey, readRecord(sign(payload).bytes, place))).toBe(true)
  })

  test('covers exactly its keys 1 to 10', () => {
    const { record, bytes } = sign('x')
    const more = ChainRecord.encode({ ...record, versionMinor: 9, correlation: utf8('trace') })
    expect(toHex(subMap(more, key => key <= 10))).toBe(toHex(subMap(bytes, key => key <= 10)))
  })

  test('names its chain after an AID', () => {
    expect(chainDid(signer.aid)).toBe(`did:svc:${signer.aid}`)
    expect(() => chainDid('did:svc:x')).toThrow(Malformed)
  })

  test('shows nested payloads, also those with numbers as names and members called __proto__', () => {
    const anchor: CborMap = new Map<number, CborValue>([
      [1, 'did:svc:x'],
      [2, 7],
      [3, Uint8Array.of(255)],
    ])
    expect(renderPayload(anchor)).toEqual({ 1: 'did:svc:x', 2: 7, 3: '/w==' })
    const hostile: CborMap = new Map([['__proto__', new Map([['polluted', true]])]])
    const rendered = renderPayload([hostile, null, new CborFloat(1), false]) as [
      Record<string, unknown>,
      ...unknown[],
    ]
    expect(Object.keys(rendered[0])).toEqual(['__proto__'])
    expect(rendered.slice(1)).toEqual([null, 1, false])
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
  })

  test('the three properties of a byte format hold', () => {
    const float = fc.double({ noNaN: true, noDefaultInfinity: true }).filter(value => !Object.is(value, -0))
    const payload = fc.letrec<{ value: CborValue }>(tie => ({
      value: fc.oneof(
        { maxDepth: 3, withCrossShrink: true },
        anyUint,
        fc.string({ maxLength: 8 }),
        fc.uint8Array({ maxLength: 8 }),
        fc.boolean(),
        float.map(value => new CborFloat(value)),
        fc.array(tie('value'), { maxLength: 3 }),
        fc
          .uniqueArray(fc.tuple(fc.stringMatching(/^[a-z]{2}$/), tie('value')), {
            maxLength: 3,
            selector: ([name]) => name,
          })
          .map((entries): CborMap => new Map(entries.sort(([a], [b]) => (a < b ? -1 : 1)))),
      ),
    })).value
    const record = fc.record(
      {
        chainDid: anyAid.map(chainDid),
        seq: anyUint,
        previous: bytesOf(36),
        eventType: fc.string({ maxLength: 20 }),
        versionMajor: fc.constant(2 as const),
        payload,
        ts: anyUint,
        signer: anyAid,
        keyStateSeq: anyUint,
        critical: fc.array(fc.string({ maxLength: 8 }), { minLength: 1, maxLength: 2 }),
        id: bytesOf(36),
        signature: bytesOf(64),
        versionMinor: anyUint,
        correlation: fc.uint8Array({ maxLength: 64 }),
      },
      {
        requiredKeys: [
          'chainDid',
          'seq',
          'previous',
          'eventType',
          'versionMajor',
          'payload',
          'ts',
          'signer',
          'keyStateSeq',
          'id',
          'signature',
        ],
      },
    )
    checkByteFormat(ChainRecord, record)
  })
})
