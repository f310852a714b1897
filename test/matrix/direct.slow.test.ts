/** Every pair of mail that goes past the hub, and something that happens; a slice has some of each row. */
import { drawn, sliced } from '../../protocol/testing/slow.ts'
import { testCells } from './cells.ts'
import { columns } from './columns.ts'
import { directMail, directSealed } from './rows/direct.ts'
import { unsealed } from './unsealed.ts'

const happenings = [...columns, ...unsealed]

testCells(directMail, drawn(happenings, sliced(happenings.length, 4)), { isOpen: true, isPatient: true })
testCells(directSealed, drawn(columns, sliced(columns.length, 4)), { isPatient: true })
