import { testMatrix } from './cells.ts'
import { calls } from './rows/work.ts'

testMatrix(calls)
