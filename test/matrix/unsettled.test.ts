import { testMatrix } from './cells.ts'
import { unsettled } from './rows/money.ts'

testMatrix(unsettled)
