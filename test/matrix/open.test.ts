/** Open mail that waits, and all that happens; the work that comes of it is in the slow file. */
import { testCells } from './cells.ts'
import { columns } from './columns.ts'
import { openMail } from './rows/open.ts'
import { unsealed } from './unsealed.ts'

testCells(openMail, [...columns, ...unsealed], { isOpen: true })
