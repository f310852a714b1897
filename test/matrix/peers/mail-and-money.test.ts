/** Mail and money between two hubs, all of it waiting at once, whatever happens that could lose or double any. */
import { testCells } from './cells.ts'
import { columns } from './columns.ts'
import { mail, money, together, travelling } from './rows.ts'

const waiting =
  /^(a large letter whose|a payment whose answer was lost|a hold$|an order whose|a refund|a move with credits)/
/** All others run for each row by itself, some of them in every slice. */
const losing =
  /lost|after the hub gave up|twice|cut off|killed|put back|rotated|off the list|refuses what it has made|signed about/

testCells(
  [
    together('everything that is asked of the hub of a payer', 'west', [
      ...[...mail, ...money].filter(({ name }) => waiting.test(name)),
      travelling('west'),
    ]),
  ],
  columns.filter(({ name }) => losing.test(name)),
)
