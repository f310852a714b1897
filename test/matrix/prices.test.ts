import { testCells } from './cells.ts'
import { prices } from './rows/money.ts'

testCells(prices)
