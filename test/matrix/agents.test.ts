import { testCells } from './cells.ts'
import { agents } from './rows/work.ts'

testCells(agents)
