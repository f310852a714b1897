import { testOpenings } from './openings.ts'

testOpenings(1000)
