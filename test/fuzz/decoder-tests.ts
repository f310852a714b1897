/** The tests of a list of decoders: so many cases each, and the memory that is left after all of them. */
import { expect, test } from 'vitest'
import { fuzz, MEMORY_GROWTH_MAX_BYTES, settledBytes } from './run.ts'
import type { Subject } from './subject.ts'

export function testDecoders(subjects: Subject[], cases: number): void {
  const bytesAtStart = settledBytes()

  test.each(subjects)(`${cases} hostile inputs: $name is read or refused, in bounded time`, subject => {
    expect(subject.real.length).toBeGreaterThan(0)
    fuzz(subject, cases)
  })

  test('after all of them no more memory is held than at the start, but for 64 MiB', () => {
    expect(settledBytes() - bytesAtStart).toBeLessThan(MEMORY_GROWTH_MAX_BYTES)
  })
}
