import { testCells } from './cells.ts'
import { calls } from './rows/work.ts'

testCells(calls)
