import { testOpenings } from './openings.ts'

testOpenings(100_000)
