/** Mail and money between two hubs, all of it waiting at once, whatever happens that could lose or double any. */
import { testCells } from './cells.ts'
import { columns, lines } from './columns.ts'
import { mail, money, type Row, together, travelling } from './rows.ts'

const waiting =
  /^(a large letter whose|a payment whose answer was lost|a hold$|an order whose|a refund|a move with credits)/
/** All others run for each row by itself, some of them in every slice. */
const losing =
  /lost|after the hub gave up|twice|cut off|killed|put back|rotated|off the list|refuses what it has made|signed about/
/** One of each kind, at one side or the other. */
const first =
  /lost|answers come after|hub is killed after|peer is killed before|hub is put back to a moment|peer is put back to before|both hubs|key of the hub|refuses what it has made|signed about/

/** Each of the first columns, or each of the others. */
export type Share = 'first' | 'others'

const shareOf = (share: Share, { name }: { name: string }): boolean =>
  losing.test(name) && first.test(name) === (share === 'first')

const west: Row = together('everything that is asked of the hub of a payer', 'west', [
  ...[...mail, ...money].filter(({ name }) => waiting.test(name)),
  travelling('west'),
])
const east: Row = together('everything that is asked of the hub of a recipient', 'east', [
  ...mail,
  ...money.filter(({ name }) => name.includes('refund')),
  travelling('east'),
])

/** While a payer's hub has questions to the hub of a payee. */
export const testPayersHub = (share: Share): void =>
  testCells(
    [west],
    columns.filter(column => shareOf(share, column)),
  )

/** Mail and a refund, which go the other way, while the line loses or doubles what goes over it. */
export const testRecipientsHub = (share: Share): void =>
  testCells(
    [east],
    lines.filter(column => shareOf(share, column) && !column.name.includes('cut off')),
  )
