/** Signature checks on their way to another thread. */
import { expect, test } from 'vitest'
import { random } from '../testing/hub.ts'
import { packChecks, unpackChecks } from './check-batch.ts'

const check = (length: number) => ({ key: random(32), message: random(length), signature: random(64) })

test.each([[[]], [[0]], [[180, 0, 65_536, 1]]])('messages of %j bytes arrive as they were', lengths => {
  const checks = lengths.map(check)
  expect(unpackChecks(packChecks(checks))).toEqual(checks)
})

test('a part goes without what lies around it', () => {
  const request = random(100_000)
  const part = (start: number, end: number) => request.subarray(start, end)
  const checks = [{ key: part(10, 42), message: part(50_000, 50_100), signature: part(99_000, 99_064) }]
  const { bytes } = packChecks(checks)
  expect(bytes.buffer.byteLength).toBe(32 + 100 + 64)
  expect(unpackChecks(packChecks(checks))).toEqual(checks)
})
