import { testMatrix } from './cells.ts'
import { holds } from './rows/money.ts'

testMatrix(holds)
