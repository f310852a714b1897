import { testCells } from './cells.ts'
import { holds } from './rows/money.ts'

testCells(holds)
