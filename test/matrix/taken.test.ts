import { testCells } from './cells.ts'
import { taken } from './rows/money.ts'

testCells(taken)
