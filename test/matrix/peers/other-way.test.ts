/** Mail and a refund, which go the other way, while the line between the hubs loses or doubles what goes over it. */
import { testCells } from './cells.ts'
import { lines } from './columns.ts'
import { mail, money, together, travelling } from './rows.ts'

const refund = money.filter(({ name }) => name.includes('refund'))
testCells(
  [
    together('everything that is asked of the hub of a recipient', 'east', [
      ...mail,
      ...refund,
      travelling('east'),
    ]),
  ],
  lines.filter(({ name }) => /lost|after the hub gave up|twice/.test(name)),
)
