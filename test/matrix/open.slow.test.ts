/** Every pair of work at hubs of open mail that waits, and something that happens; a slice has some of each row. */
import { drawn, sliced } from '../../protocol/testing/slow.ts'
import { testCells } from './cells.ts'
import { columns } from './columns.ts'
import { openWork } from './rows/open.ts'
import { unsealed } from './unsealed.ts'

const happenings = [...columns, ...unsealed]

testCells(openWork, drawn(happenings, sliced(happenings.length, 2)), { isOpen: true, isPatient: true })
