import { describe, expect, test } from 'vitest'
import { fromHex, Malformed, toHex } from '../encoding/bytes.ts'
import { decodeKel, verifyKel } from '../identity/kel.ts'
import { agent, fixture, NOW_MS } from '../testing/agents.ts'
import { ChainInvalid, ChainRecord, GENESIS, signRecord } from './evidence.ts'
import { CompactRange } from './merkle.ts'
import {
  creditIssued,
  creditPayload,
  creditRetired,
  type Epoch,
  epochPayload,
  supplyEpoch,
} from './supply.ts'
import { SupplyFault, SupplyReader } from './supply-reader.ts'

const hub = agent('hub')
const [own, other] = [agent('own').aid, agent('other').aid]

type Entry = { eventType: string; payload: ReturnType<typeof creditPayload> }
const change = (eventType: string, aid: string, amount: number): Entry => ({
  eventType,
  payload: creditPayload({ aid, amount, reason: eventType === creditIssued ? 'trial' : 'redemption' }),
})
const epochOf = (more: Partial<Epoch>): Entry => {
  const { issued = 0, retired = 0 } = more
  const outstanding = issued - retired
  const zeros = {
    held: 0,
    owed_by_peers: 0,
    due_to_peers: 0,
    depth: 0,
    accounts: 0,
    ledger_hw: 0,
    chain_hw: 0,
  }
  const epoch = {
    day: 1,
    from_day: 1,
    issued,
    retired,
    outstanding,
    root_sum: outstanding,
    ...zeros,
    ...more,
  }
  return { eventType: supplyEpoch, payload: epochPayload({ ...epoch, root: new Uint8Array(32) }) }
}

/** The bytes of a chain of these entries, one record of which another key may have signed. */
function chain(entries: readonly Entry[], forged?: number): Uint8Array[] {
  let previous: Uint8Array = GENESIS
  return entries.map((entry, seq) => {
    const seed = seq === forged ? agent('forger').identitySeed : hub.identitySeed
    const given = { signer: hub.aid, keyStateSeq: 0, seq, previous, ts: NOW_MS, ...entry }
    const { record, bytes } = signRecord(seed, given)
    previous = record.id
    return bytes
  })
}

const honest: Entry[] = [
  epochOf({ day: 0, from_day: 0 }),
  change(creditIssued, own, 100),
  change(creditIssued, other, 50),
  change(creditRetired, other, 20),
  epochOf({ issued: 150, retired: 20, chain_hw: 3 }),
  change(creditIssued, other, 5),
]

function read(records: readonly Uint8Array[], options: ConstructorParameters<typeof SupplyReader>[1]) {
  const reader = new SupplyReader(hub.log, options)
  for (const bytes of records) reader.add(bytes)
  reader.end()
  return reader
}

describe('a supply chain', () => {
  test('adds up to its epochs, and is read on from the last one', () => {
    const records = chain(honest)
    const whole = read(records, { own })
    expect(whole.sums).toEqual({ issued: 155, retired: 20 })
    expect(whole.epoch?.seq).toBe(4)
    expect(whole.head.length).toBe(6)
    expect(whole.place).toMatchObject({ length: 5, issued: 150, retired: 20 })
    const later = chain([...honest, epochOf({ day: 2, from_day: 2, issued: 155, retired: 20, chain_hw: 5 })])
    const rest = read(later.slice(5), { own, from: whole.place })
    expect(rest.sums).toEqual({ issued: 155, retired: 20 })
    expect(rest.head.length).toBe(7)
  })

  test.each([
    ['more than the records before it', { issued: 151, retired: 20, chain_hw: 3 }],
    ['less that was retired', { issued: 150, retired: 19, chain_hw: 3 }],
    ['the sums of fewer records than it names', { issued: 150, retired: 0, chain_hw: 3 }],
    ['records after itself', { issued: 150, retired: 20, chain_hw: 4 }],
    [
      'more outstanding than was issued',
      { issued: 150, retired: 20, outstanding: 131, root_sum: 131, chain_hw: 3 },
    ],
    ['a day that was counted', { day: 0, from_day: 0, issued: 150, retired: 20, chain_hw: 3 }],
  ])('whose epoch says %s is told', (_, epoch) => {
    const entries = honest.map((entry, seq) => (seq === 4 ? epochOf(epoch) : entry))
    expect(() => read(chain(entries), { own })).toThrow(SupplyFault)
  })

  test('that was cut, reordered or goes on from another place is told', () => {
    const records = chain(honest)
    const swapped = [records[0], records[2], records[1]] as Uint8Array[]
    expect(() => read(swapped, { own })).toThrow(ChainInvalid)
    expect(() => read(records.slice(1), { own })).toThrow(ChainInvalid)
    const { place } = read(records, { own })
    const rewritten = chain([
      epochOf({ day: 0, from_day: 0 }),
      change(creditIssued, own, 99),
      ...honest.slice(2),
    ])
    expect(() => read(rewritten.slice(5), { own, from: place })).toThrow(ChainInvalid)
  })

  test('shows the record where a reading ended once more, and no other one in its place', () => {
    const records = chain(honest)
    const { place } = read(records, { own })
    const again = (bytes: Uint8Array | undefined) => {
      const reader = new SupplyReader(hub.log, { own, from: place })
      reader.again(bytes ?? new Uint8Array())
      return reader.newest
    }
    expect(again(records[4])).toMatchObject({ day: 1, issued: 150, retired: 20 })
    const other = chain(honest.map((entry, seq) => (seq === 4 ? epochOf({ day: 9 }) : entry)))[4]
    expect(() => again(other)).toThrow('showed another one before')
    // the id of the one record over what the other one says
    const spliced = { ...ChainRecord.decode(other as Uint8Array), id: place.head }
    expect(() => again(ChainRecord.encode(spliced))).toThrow(ChainInvalid)
    expect(() => again(records[5])).toThrow(ChainInvalid)
  })

  test('has the signature of the hub on epochs, on own records and on its head, and on all where that is asked', () => {
    for (const forged of [1, 4, 5])
      expect(() => read(chain(honest, forged), { own }), String(forged)).toThrow('signature of the hub')
    expect(() => read(chain(honest, 2), { own })).not.toThrow()
    expect(() => read(chain(honest, 2), { own: undefined })).toThrow('signature of the hub')
  })
})

describe('a recorded supply chain', () => {
  type Read = { issued: number; retired: number }
  const vectors = fixture<{
    kel: string
    records: (Read & { record: string; id: string })[]
    treeRoot: string
    alsoValid: (Read & { reason: string; records: string[] })[]
    invalid: { reason: string; fault: string; at: number; records: string[] }[]
  }>('payment/supply.json')
  const readerOf = () => new SupplyReader(verifyKel(decodeKel(fromHex(vectors.kel))), { own: undefined })

  test('is read to its end, with these ids and sums', () => {
    const reader = readerOf()
    const tree = new CompactRange()
    for (const { record, id, issued, retired } of vectors.records) {
      reader.add(fromHex(record))
      expect([toHex(reader.head.head), reader.sums]).toEqual([id, { issued, retired }])
      tree.append(reader.head.head)
    }
    reader.end()
    expect(toHex(tree.root())).toBe(vectors.treeRoot)
  })

  test.each(vectors.alsoValid)('may have $reason', ({ records, issued, retired }) => {
    const reader = readerOf()
    for (const record of records) reader.add(fromHex(record))
    reader.end()
    expect(reader.sums).toEqual({ issued, retired })
  })

  test.each(vectors.invalid)('is refused where $reason', ({ records, at, fault }) => {
    const reader = readerOf()
    const faultOf = (record: string): string | undefined => {
      try {
        reader.add(fromHex(record))
        return undefined
      } catch (error) {
        if (error instanceof ChainInvalid) return error.code
        if (error instanceof SupplyFault) return 'supply'
        if (error instanceof Malformed) return 'payload'
        throw error
      }
    }
    const last = records.length - 1
    expect(last).toBe(at)
    expect(records.map(faultOf)).toEqual(records.map((_, seq) => (seq === last ? fault : undefined)))
  })
})
