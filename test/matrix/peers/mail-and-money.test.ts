/** Mail and money between two hubs, all of it waiting at once, whatever happens that could lose any. */
import { testCells } from './cells.ts'
import { columns } from './columns.ts'
import { mail, money, together, travelling } from './rows.ts'

const waiting =
  /^(a large letter whose|a payment whose answer was lost|a hold$|an order whose|a refund|a move with credits)/
/** They cost time, and lose nothing. */
const harmless = /flood|goes back/

testCells(
  [
    together('everything that is asked of the hub of a payer', 'west', [
      ...[...mail, ...money].filter(({ name }) => waiting.test(name)),
      travelling('west'),
    ]),
  ],
  columns.filter(({ name }) => !harmless.test(name)),
)
