import { expect, test } from 'vitest'
import { fuzzOpening } from './openings.ts'

const CASES = 1000
const seedBase = Math.floor(Math.random() * 1e9)

test(`${CASES} envelopes (from ${seedBase}), fed in pieces: whole ones open, altered ones are refused`, async () => {
  for (let i = 0; i < CASES; i++) expect(await fuzzOpening(seedBase + i)).toBeUndefined()
})
