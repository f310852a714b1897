/** Mail and money between two hubs, all of it waiting at once, whatever happens meanwhile. */
import { testCells } from './cells.ts'
import { columns, kills } from './columns.ts'
import { mail, money, together } from './rows.ts'

testCells(
  [together('everything that is asked of the hub of a payer', 'west', [...mail, ...money])],
  columns.filter(column => !kills.includes(column)),
)
