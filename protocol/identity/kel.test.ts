import { readdirSync, readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fromHex, Malformed, toHex } from '../encoding/bytes.ts'
import { present } from '../encoding/present.ts'
import { checkByteFormat, seeded } from '../testing/agents.ts'
import {
  compareKel,
  decodeKel,
  encodeKel,
  incept,
  KEL_BYTES_MAX,
  KelInvalid,
  type KeyEvent,
  KeyEventBody,
  keyAt,
  rotate,
  verifyKel,
} from './kel.ts'
import { EVENT_AHEAD_MAX_MS, EVENT_BEHIND_MAX_MS, timesAcceptable } from './kel-times.ts'
import { witnessedAt, witnessKel } from './kel-witness.ts'

const folder = new URL('../../fixtures/kel/', import.meta.url)
const load = <T>(kind: string) =>
  readdirSync(new URL(`${kind}/`, folder)).map(file => [
    file.replace('.json', ''),
    JSON.parse(readFileSync(new URL(`${kind}/${file}`, folder), 'utf8')) as T,
  ]) as [string, T][]

type Valid = {
  reason: string
  log: string
  aid: string
  seq: number
  ts: number
  public_key: string
  head_digest: string
  home: string | null
  deactivated: boolean
}
type Invalid = { reason: string; fault: string; seq: number | null; log: string }
type Verdicts = {
  hub: string
  witnessed_at: number
  cases: { reason: string; held: string; submitted: string; verdict: string; seq?: number }[]
}
const valid = load<Valid>('valid')
const invalid = load<Invalid>('invalid')
const verdicts = JSON.parse(readFileSync(new URL('verdicts.json', folder), 'utf8')) as Verdicts
const read = (hex: string) => verifyKel(decodeKel(fromHex(hex)))

describe(`${valid.length} valid logs`, () => {
  test.each(valid)('%s', (_, vector) => {
    const log = read(vector.log)
    expect({
      aid: log.aid,
      seq: log.seq,
      ts: log.ts,
      public_key: toHex(log.publicKey),
      head_digest: toHex(log.headDigest),
      home: log.home ?? null,
      deactivated: log.deactivated,
    }).toEqual({ ...vector, reason: undefined, log: undefined })
    expect(log.aid).toMatch(/^A[A-Za-z0-9_-]{43}$/)
    expect(toHex(encodeKel(log.events))).toBe(vector.log)
  })
})

describe(`${invalid.length} invalid logs`, () => {
  test.each(invalid)('%s', (_, { reason, fault, seq, log }) => {
    const submitted = () => verifyKel(decodeKel(fromHex(log)))
    if (fault === 'malformed') expect(submitted, reason).toThrow(Malformed)
    else expect(submitted, reason).toThrow(expect.objectContaining({ name: 'KelInvalid', code: fault, seq }))
  })

  test('a log over 256 KiB or over 1,024 events is refused before it is read', () => {
    expect(() => decodeKel(new Uint8Array(KEL_BYTES_MAX + 1))).toThrow(KelInvalid)
    const event = decodeKel(fromHex((valid[0] as [string, Valid])[1].log))[0]
    expect(() => verifyKel(Array.from({ length: 1025 }, () => event as never))).toThrow(KelInvalid)
  })
})

describe('the verdict on a submitted log', () => {
  test.each(verdicts.cases)('$reason: $verdict', ({ held, submitted, verdict, seq }) => {
    const compare = () => compareKel(read(held), decodeKel(fromHex(submitted)))
    if (verdict === 'invalid') expect(compare).toThrow(KelInvalid)
    else expect(compare()).toMatchObject({ verdict, ...present({ seq }) })
  })

  test('a fork keeps both signed events as proof', () => {
    const fork = verdicts.cases.find(entry => entry.verdict === 'fork') as (typeof verdicts.cases)[number]
    const found = compareKel(read(fork.held), decodeKel(fromHex(fork.submitted)))
    if (found.verdict !== 'fork') throw new Error('no fork')
    expect(toHex(found.held.bodyBytes)).not.toBe(toHex(found.submitted.bodyBytes))
    expect(found.held.body.seq).toBe(found.submitted.body.seq)
  })
})

describe('witness entries', () => {
  const log = read((valid.find(([name]) => name === 'witnessed') as [string, Valid])[1].log)
  test('give the time at which the hub saw the event', () => {
    expect(witnessedAt(log, 1, read(verdicts.hub))).toBe(verdicts.witnessed_at)
  })

  test('say nothing when they are of another hub, of another event or altered', () => {
    const hub = read(verdicts.hub)
    expect(witnessedAt(log, 0, hub)).toBeUndefined()
    expect(witnessedAt(log, 1, log)).toBeUndefined()
    const [entry] = log.events[1]?.witnesses ?? []
    const altered = {
      ...log,
      events: [log.events[0], { ...log.events[1], witnesses: [{ ...entry, ts: 1 }] }],
    } as typeof log
    expect(witnessedAt(altered, 1, hub)).toBeUndefined()
  })
})

describe('witnessing', () => {
  const random = seeded('kel witnessing')
  const agent = incept({ seed: random(32), nextSeed: random(32), ts: 1 })
  const hubs = Array.from({ length: 9 }, () => {
    const seed = random(32)
    const log = incept({ seed, nextSeed: random(32), ts: 1 })
    return { log, signer: { aid: log.aid, seq: 0, seed } }
  })
  const first = hubs[0] as (typeof hubs)[number]

  test('an entry of the same hub stays as it is', () => {
    const once = witnessKel(agent, first.signer, 10)
    expect(witnessedAt(once, 0, first.log)).toBe(10)
    expect(witnessKel(once, first.signer, 20)).toBe(once)
  })

  test('the newest eight entries of an event are kept', () => {
    const all = hubs.reduce((log, hub, i) => witnessKel(log, hub.signer, 10 + i), agent)
    expect(all.events[0]?.witnesses.map(entry => entry.ts)).toEqual([11, 12, 13, 14, 15, 16, 17, 18])
  })
})

describe('the size of a log', () => {
  const random = seeded('kel size')
  const seeds = Array.from({ length: 1026 }, () => random(32))
  let log = incept({ seed: seeds[0] as Uint8Array, nextSeed: seeds[1] as Uint8Array, ts: 1 })
  const more = (i: number) =>
    rotate(log, { seed: seeds[i] as Uint8Array, nextSeed: seeds[i + 1] as Uint8Array, ts: i + 1 })

  test('has 1,024 events at most', () => {
    for (let i = 1; i < 1024; i++) log = more(i)
    expect(log.seq).toBe(1023)
    expect(() => more(1024)).toThrow(KelInvalid)
  })

  test('an event names four witnesses at most', () => {
    const [hub] = [log.aid]
    const named = (count: number) =>
      KeyEventBody.encode({
        ...(log.events[0] as (typeof log.events)[0]).body,
        witnesses: Array(count).fill(hub),
      })
    expect(() => KeyEventBody.decode(named(4))).not.toThrow()
    expect(() => KeyEventBody.decode(named(5))).toThrow(Malformed)
  })
})

describe('times of new events', () => {
  const random = seeded('kel times')
  const [first, second, third] = [random(32), random(32), random(32)]
  const now = 1_780_000_000_000
  const home = read(verdicts.hub).aid
  const logAt = (ts: number) =>
    rotate(incept({ seed: first, nextSeed: second, ts: ts - 1 }), { seed: second, nextSeed: third, ts, home })

  test('none lies later than five minutes from now', () => {
    expect(timesAcceptable(logAt(now + EVENT_AHEAD_MAX_MS), 0, now)).toBe(true)
    expect(timesAcceptable(logAt(now + EVENT_AHEAD_MAX_MS + 1), 0, now)).toBe(false)
    expect(timesAcceptable(logAt(now + EVENT_AHEAD_MAX_MS + 1), 2, now)).toBe(true)
  })

  test('the lower bound holds for the last event of a registration that names this hub, and for nothing else', () => {
    const old = logAt(now - EVENT_BEHIND_MAX_MS - 1)
    expect(timesAcceptable(old, 0, now, home)).toBe(false)
    expect(timesAcceptable(logAt(now - EVENT_BEHIND_MAX_MS), 0, now, home)).toBe(true)
    expect(timesAcceptable(old, 0, now)).toBe(true)
    expect(timesAcceptable(old, 2, now, home)).toBe(true)
    expect(timesAcceptable(old, 0, now, old.aid)).toBe(true)
  })
})

describe('keys over time', () => {
  test('each sequence number has its key, and a log beyond its end has none', () => {
    const log = read((valid.find(([name]) => name === 'rotated-twice') as [string, Valid])[1].log)
    const keys = [0, 1, 2].map(seq => toHex(keyAt(log, seq) as Uint8Array))
    expect(new Set(keys).size).toBe(3)
    expect(keys[2]).toBe(toHex(log.publicKey))
    expect(keyAt(log, 3)).toBeUndefined()
  })

  test('a rotation without the committed key is not made', () => {
    const random = seeded('kel thief')
    const log = incept({ seed: random(32), nextSeed: random(32), ts: 1 })
    expect(() => rotate(log, { seed: random(32), nextSeed: random(32), ts: 2 })).toThrow(KelInvalid)
  })
})

describe('the byte format', () => {
  const random = seeded('kel format')
  const seeds = Array.from({ length: 5 }, () => random(32)) as [Uint8Array, Uint8Array, ...Uint8Array[]]
  const logs = fc.tuple(fc.nat(3), fc.integer({ min: 1, max: 2 ** 45 })).map(([rotations, ts]) => {
    let log = incept({ seed: seeds[0], nextSeed: seeds[1], ts })
    for (let i = 0; i < rotations; i++) {
      log = rotate(log, {
        seed: seeds[i + 1] as Uint8Array,
        nextSeed: seeds[i + 2] as Uint8Array,
        ts: ts + i + 1,
      })
    }
    return [...log.events]
  })

  test('decodes what it encodes, refuses everything else, and re-encodes what it accepts', () => {
    checkByteFormat<KeyEvent[]>({ encode: encodeKel, decode: decodeKel }, logs, 40)
  })
})
