import { testMatrix } from './cells.ts'
import { clients } from './rows/work.ts'

testMatrix(clients)
