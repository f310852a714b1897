import { expect, test } from 'vitest'
import { protocolSubjects } from './protocol-subjects.ts'
import { fuzz, MEMORY_GROWTH_MAX_BYTES, settledBytes } from './run.ts'

const CASES = 10_000
const subjects = protocolSubjects()
const bytesAtStart = settledBytes()

test.each(subjects)(`${CASES} hostile inputs: $name is read or refused, in bounded time`, subject => {
  expect(subject.real.length).toBeGreaterThan(0)
  fuzz(subject, CASES)
})

test('after all of them no more memory is held than at the start, but for 64 MiB', () => {
  expect(settledBytes() - bytesAtStart).toBeLessThan(MEMORY_GROWTH_MAX_BYTES)
})
