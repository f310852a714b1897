import { testCells } from './cells.ts'
import { money } from './rows/money.ts'

testCells(money)
