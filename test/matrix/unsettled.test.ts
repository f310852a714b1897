import { testCells } from './cells.ts'
import { unsettled } from './rows/money.ts'

testCells(unsettled)
