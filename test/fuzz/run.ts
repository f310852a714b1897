/** Feeds a decoder with arbitrary bytes and with mutated real ones, and holds it to what it may cost. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { expect } from 'vitest'
import { equal, toHex } from '../../protocol/encoding/bytes.ts'
import { seed } from '../../protocol/testing/slow.ts'
import { drawFrom, mutate } from './mutate.ts'
import type { Subject } from './subject.ts'

/** Milliseconds that a decoder may take for each KiB that was begun. */
const MS_PER_KIB_MAX = 50
export const MEMORY_GROWTH_MAX_BYTES = 64 * 1024 * 1024
const KIB = 1024
setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void
/** Most cases are mutated real bytes, because arbitrary ones end at the first byte. */
const MUTATED_WEIGHT = 7
const SEEDS = 0x7fff_ffff
const ARBITRARY_BYTES_MAX = 40

/** Runs so many cases; a failure names the seed that repeats it. */
export function fuzz(subject: Subject, count: number): void {
  for (const bytes of subject.real) expect(() => subject.read(bytes)).not.toThrow()
  const mutated = fc.nat(SEEDS).map(seed => mutate(subject.real, drawFrom(seed)))
  const arbitrary = fc.uint8Array({ maxLength: ARBITRARY_BYTES_MAX })
  const cases = fc.oneof({ weight: MUTATED_WEIGHT, arbitrary: mutated }, { weight: 1, arbitrary })
  fc.assert(
    fc.property(cases, bytes => check(subject, bytes)),
    { numRuns: count, seed },
  )
}

function check(subject: Subject, bytes: Uint8Array): void {
  const given = new Uint8Array(bytes)
  const limitMs = Math.ceil(Math.max(1, bytes.length) / KIB) * MS_PER_KIB_MAX
  if (timed(subject, given) > limitMs) {
    // The machine may have been busy; what is slow by itself is slow every time.
    const least = Math.min(...[1, 2, 3].map(() => timed(subject, given)))
    if (least > limitMs) throw new Error(`${least} ms for ${bytes.length} bytes: ${toHex(given)}`)
  }
  if (!equal(given, bytes)) throw new Error(`the decoder wrote into its input: ${toHex(bytes)}`)
}

/** Milliseconds of one case that is either read, and then has one spelling, or refused. */
function timed(subject: Subject, bytes: Uint8Array): number {
  const start = performance.now()
  try {
    const spelled = subject.read(bytes)
    const took = performance.now() - start
    if (spelled !== undefined && !equal(spelled, bytes))
      throw new Error(`${subject.name}: read ${toHex(bytes)}, which spells ${toHex(spelled)}`)
    return took
  } catch (error) {
    if (!subject.refuses(error)) throw error
    return performance.now() - start
  }
}

/** Bytes in use once garbage is gone. */
export function settledBytes(): number {
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
