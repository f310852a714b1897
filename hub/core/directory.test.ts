/** Buckets, listings and figures, as the core cuts and remembers them. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { toBase64url } from '../../protocol/encoding/bytes.ts'
import { openCore, refusedWith, type TestCore } from '../testing/core.ts'
import { agentRow } from '../testing/store-contract.ts'
import { Directory } from './directory.ts'

const NOW_MS = 1_800_000_000_000
const HOUR_MS = 3_600_000
const COUNTS_LIFE_MS = 10_000
const HERE = '192.0.2.1'

let core: TestCore
let directory: Directory
beforeEach(async () => {
  core = await openCore(NOW_MS, { bucketRate: { perSecond: 1, burst: 50 } })
  directory = new Directory(core.context)
})
afterEach(() => core.close())

const hash = (first: number, second = 0): Uint8Array => Uint8Array.of(first, second, ...Array(30).fill(1))
const put = (name: string, h?: Uint8Array, more = {}) =>
  core.context.store.putAgent({
    row: agentRow(name, more),
    entry: h && { h, box: new Uint8Array(8) },
    terms: [],
  })
const bucket = (bits: number, prefix: Uint8Array, afterH?: Uint8Array) =>
  directory.bucket({ prefix: toBase64url(prefix), bits, afterH }, HERE)

describe('a bucket', () => {
  test('holds the entries of its prefix alone, and is never narrower than the hub allows', async () => {
    for (let i = 0; i < 64; i++) await put(`agent-${i}`, hash(i * 4))
    expect(await directory.bitsMax()).toBe(1)
    const low = await bucket(1, Uint8Array.of(0))
    expect([low.bitsMax, low.entries.length, low.next]).toEqual([1, 32, undefined])
    expect(low.entries.every(({ h }) => (h[0] ?? 0) < 128)).toBe(true)
    expect((await bucket(1, Uint8Array.of(128))).entries.length).toBe(32)
    const [, second] = low.entries
    expect((await bucket(1, Uint8Array.of(0), second?.h)).entries.length).toBe(30)
    expect(await refusedWith(() => bucket(2, Uint8Array.of(0)))).toBe('bucketTooNarrow')
    expect(await refusedWith(() => bucket(1, Uint8Array.of(1)))).toBe('requestMalformed')
    expect(await refusedWith(() => bucket(1, new Uint8Array(2)))).toBe('requestMalformed')
  })

  test('of more than 256 entries goes on after the last that it gave', async () => {
    for (let i = 0; i < 257; i++) await put(`agent-${i}`, hash(i >> 8, i & 255))
    const first = await bucket(0, new Uint8Array(0))
    expect([first.entries.length, first.next]).toEqual([256, first.entries[255]?.h])
    const rest = await bucket(0, new Uint8Array(0), first.next)
    expect([rest.entries.length, rest.next]).toEqual([1, undefined])
  })

  test('is given so often to each address', async () => {
    const asked = (address: string) =>
      refusedWith(() => directory.bucket({ prefix: '', bits: 0, afterH: undefined }, address))
    for (let i = 0; i < 50; i++) expect(await asked(HERE)).toBeUndefined()
    expect([await asked(HERE), await asked('192.0.2.2')]).toEqual(['rateLimited', undefined])
  })
})

test('figures are read once in ten seconds, and again when the clock was set back', async () => {
  await put('agent-1')
  await put('agent-2', undefined, { seenHourMs: Math.floor(NOW_MS / HOUR_MS) * HOUR_MS - HOUR_MS })
  await put('agent-3', undefined, { seenHourMs: Math.floor(NOW_MS / HOUR_MS) * HOUR_MS - 2 * HOUR_MS })
  const read = vi.spyOn(core.context.store, 'counts')
  const asked = await Promise.all(Array.from({ length: 150 }, () => directory.counts()))
  for (const counts of asked) expect(counts).toMatchObject({ agents: 3, onlineAgents: 1 })
  await put('agent-4')
  core.clock.ms += COUNTS_LIFE_MS
  expect((await directory.counts()).agents).toBe(3)
  expect(read).toHaveBeenCalledTimes(1)
  core.clock.ms += 1
  expect((await directory.counts()).agents).toBe(4)
  await put('agent-5')
  core.clock.ms -= 2
  expect((await directory.counts()).agents).toBe(5)
})

test('a listing goes on after an AID, and filters', async () => {
  for (const name of ['a', 'b', 'c', 'd'])
    await put(name, undefined, { visibility: name === 'c' ? 'public' : 'hub-local', caps: [`cap.${name}`] })
  const named = async (...given: Parameters<Directory['list']>) => {
    const { rows, next } = await directory.list(...given)
    return [rows.map(row => row.aid).join(''), next]
  }
  expect(await named('', 3)).toEqual(['abc', 'c'])
  expect(await named('c', 3)).toEqual(['d', undefined])
  expect(await named('', 3, { onlyPublic: true })).toEqual(['c', undefined])
  expect(await named('', 3, { caps: ['cap.b', 'cap.d'] })).toEqual(['bd', undefined])
})
