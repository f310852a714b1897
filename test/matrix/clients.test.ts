import { testCells } from './cells.ts'
import { clients } from './rows/work.ts'

testCells(clients)
