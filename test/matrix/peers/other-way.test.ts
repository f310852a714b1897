/** Mail and a refund, which go the other way, and hubs that are killed over each step. */
import { testCells } from './cells.ts'
import { kills, lines } from './columns.ts'
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
  lines,
)

const lost = /^(a letter|a payment|an order) whose answer was lost$/
testCells(
  [...mail, ...money].filter(({ name }) => lost.test(name)),
  kills,
)
