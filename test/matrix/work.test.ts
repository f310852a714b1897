import { testCells } from './cells.ts'
import { work } from './rows/work.ts'

testCells(work)
