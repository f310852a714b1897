import { describe, expect, test } from 'vitest'
import { fromHex, Malformed, toHex } from '../encoding/bytes.ts'
import { fixture } from '../testing/agents.ts'
import { leadingZeroBits, POW_BITS_MIN, powBits, powSeed, powSeedNotAfter, solveRange } from './pow.ts'

type Task = { hub: string; aid: string; nonce: string }
const vector = fixture<
  Task & {
    secret: string
    seed: string
    notAfterMs: number
    bits: number
    refusedSeeds: { aid: string; seed: string; reason: string }[]
    refusedNonces: (Partial<Task> & { reason: string })[]
  }
>('pow/solutions.json')
const secret = fromHex(vector.secret)
const task = { hub: vector.hub, aid: vector.aid, seed: fromHex(vector.seed) }

describe('proof of work', () => {
  test('the recorded solution has at least 22 leading zero bits for its hub, agent and seed', () => {
    expect(powBits(task, fromHex(vector.nonce))).toBe(vector.bits)
    expect(vector.bits).toBeGreaterThanOrEqual(POW_BITS_MIN)
  })

  test(`${vector.refusedNonces.length} others fall short: another nonce, hub or agent`, () => {
    for (const { reason, ...difference } of vector.refusedNonces) {
      const { hub, aid, nonce } = { ...vector, ...difference }
      expect(powBits({ ...task, hub, aid }, fromHex(nonce)), reason).toBeLessThan(POW_BITS_MIN)
    }
    expect(() => powBits(task, new Uint8Array(7))).toThrow(Malformed)
  })

  test('a seed tells its time to the hub that gave it, without any state', () => {
    expect(toHex(powSeed(secret, vector.aid, vector.notAfterMs))).toBe(vector.seed)
    expect(powSeedNotAfter(secret, vector.aid, task.seed)).toBe(vector.notAfterMs)
  })

  test(`${vector.refusedSeeds.length} seeds are not this hub's for this agent`, () => {
    for (const { aid, seed, reason } of vector.refusedSeeds) {
      expect(powSeedNotAfter(secret, aid, fromHex(seed)), reason).toBeUndefined()
    }
  })

  test('the search finds the first nonce of its range and nothing outside it', () => {
    const found = solveRange(task, 9, 0, 100_000)
    const number = Number(new DataView(found!.buffer, found!.byteOffset).getBigUint64(0))
    expect(powBits(task, found!)).toBeGreaterThanOrEqual(9)
    expect(solveRange(task, 9, 0, number)).toBeUndefined()
    expect(toHex(solveRange(task, 9, number, 1)!)).toBe(toHex(found!))
    const beyond = solveRange(task, 0, 2 ** 32, 1)
    expect(toHex(beyond!)).toBe('0000000100000000')
  })

  test('zero bits are counted from the front', () => {
    const counted = ['', '80', '01', '00ff', '000001', '0000'].map(hex => leadingZeroBits(fromHex(hex)))
    expect(counted).toEqual([0, 0, 7, 8, 23, 16])
  })
})
