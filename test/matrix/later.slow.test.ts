/** Every pair with hours and a month behind it, also where nothing waits for them; a slice has some of each row. */
import { drawn, sliced } from '../../protocol/testing/slow.ts'
import { testCells } from './cells.ts'
import { columns } from './columns.ts'
import { mail } from './rows/mail.ts'
import { money } from './rows/money.ts'
import { proofs } from './rows/proofs.ts'
import { agents, calls, clients } from './rows/work.ts'

const rows = [...mail, ...money, ...proofs, ...calls, ...agents, ...clients]

testCells(rows, drawn(columns, sliced(columns.length, 2)), { isPatient: true })
