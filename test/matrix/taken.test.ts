import { testMatrix } from './cells.ts'
import { taken } from './rows/money.ts'

testMatrix(taken)
