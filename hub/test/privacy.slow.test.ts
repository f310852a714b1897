import { testNothingTells } from '../testing/privacy-scan.ts'

testNothingTells(10_000)
