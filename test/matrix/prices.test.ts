import { testMatrix } from './cells.ts'
import { prices } from './rows/money.ts'

testMatrix(prices)
