import { testNothingTells } from './privacy-scan.ts'

testNothingTells(10_000)
