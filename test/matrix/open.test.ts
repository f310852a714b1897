/** Open mail that waits, and all that happens; every pair of the others is in the slow file. */
import { testCells } from './cells.ts'
import { columns } from './columns.ts'
import { openRows } from './rows/open.ts'

testCells(openRows, columns, { isOpen: true })
