import { testBothLinesTellNothing, testNothingTells } from '../testing/privacy-scan.ts'

testNothingTells(10_000)
testBothLinesTellNothing(10_000)
