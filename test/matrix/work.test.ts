import { testCells } from './cells.ts'
import { agents, calls } from './rows/work.ts'

testCells([...calls, ...agents])
