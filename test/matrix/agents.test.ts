import { testMatrix } from './cells.ts'
import { agents } from './rows/work.ts'

testMatrix(agents)
