/** Every pair of something that waits between two hubs and something that happens; a slice has some of each row. */
import { drawn, sliced } from '../../../protocol/testing/slow.ts'
import { testCells } from './cells.ts'
import { columns } from './columns.ts'
import { clearing, mail, money, reading, travelling } from './rows.ts'

testCells(
  [...mail, travelling('east'), ...money, ...clearing, ...reading],
  drawn(columns, sliced(columns.length, 2)),
)
