/** Payments across two hubs, whatever happens that could lose one; every pair is in the slow file. */
import { between } from './between.ts'
import { testCells } from './cells.ts'
import { columns } from './columns.ts'
import { across } from './rows/across.ts'

const waiting = /whose answer was lost|has yet to make/
const costly =
  /^(it is restored from a backup|it moves to another hub and back|the hub of the paye[re] is restored from a backup)$/

testCells(
  across.filter(({ name }) => waiting.test(name)),
  [...columns, ...between].filter(({ name }) => costly.test(name)),
)
