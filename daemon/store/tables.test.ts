import { expect, test } from 'vitest'
import { a2aEventsTable, a2aMessagesTable, a2aPushesTable, a2aTasksTable } from './a2a.ts'
import { autoRepliesTable, autoReplyRunsTable } from './auto-replies.ts'
import { boardOrdersTable } from './board-orders.ts'
import { heldTable, issuedTable, revocationsTable } from './capabilities.ts'
import { chainTable } from './chain.ts'
import { columnOf, type Table } from './columns.ts'
import { contactsTable } from './contacts.ts'
import { contradictionsTable } from './contradictions.ts'
import { countersTable } from './counters.ts'
import { creditMovesTable } from './credit-moves.ts'
import { capabilityUsesTable, directAddressesTable } from './direct.ts'
import { hubAccountsTable, unprovenDebitsTable, witnessedRecordsTable } from './hub-accounts.ts'
import { hubKeysSeenTable } from './hub-keys-seen.ts'
import { hubsTable, wiresSeenTable } from './hubs.ts'
import { idempotencyTable } from './idempotency.ts'
import { interactionsTable } from './interactions.ts'
import { lastingTable } from './lasting.ts'
import { lostTasksTable } from './lost.ts'
import { lostOrdersTable } from './lost-orders.ts'
import { attachmentsTable, messagesTable } from './messages.ts'
import { notesTable } from './notes.ts'
import { openStoreAt } from './open.ts'
import { outboxTable } from './outbox.ts'
import { paymentsTable } from './payments.ts'
import { peersTable } from './peers.ts'
import { powSolutionsTable } from './pow-solutions.ts'
import { quotesTable } from './quotes.ts'
import { ratingsTable } from './ratings.ts'
import { redemptionsTable } from './redemptions.ts'
import { refundsTable } from './refunds.ts'
import { numbersAnsweredTable, restoresTable } from './restores.ts'
import { reviewsTable } from './reviews.ts'
import { seenTable } from './seen.ts'
import { supplyHeadsTable } from './supply-heads.ts'

const tables: readonly Table[] = [
  hubsTable,
  wiresSeenTable,
  contactsTable,
  peersTable,
  heldTable,
  issuedTable,
  revocationsTable,
  directAddressesTable,
  capabilityUsesTable,
  interactionsTable,
  messagesTable,
  attachmentsTable,
  outboxTable,
  seenTable,
  idempotencyTable,
  reviewsTable,
  ratingsTable,
  quotesTable,
  paymentsTable,
  a2aTasksTable,
  a2aMessagesTable,
  a2aEventsTable,
  a2aPushesTable,
  chainTable,
  countersTable,
  lostTasksTable,
  lastingTable,
  restoresTable,
  numbersAnsweredTable,
  refundsTable,
  creditMovesTable,
  redemptionsTable,
  lostOrdersTable,
  hubAccountsTable,
  witnessedRecordsTable,
  unprovenDebitsTable,
  supplyHeadsTable,
  hubKeysSeenTable,
  contradictionsTable,
  powSolutionsTable,
  boardOrdersTable,
  notesTable,
  autoRepliesTable,
  autoReplyRunsTable,
]

type ColumnInfo = { name: string; type: string; notnull: number; pk: number }

test.each(tables)('rows of $name have the columns of the schema, with their types', ({ name, columns }) => {
  const store = openStoreAt(':memory:')
  const inSchema = store
    .all<ColumnInfo>(`PRAGMA table_info(${name})`)
    .map(({ name, type, notnull, pk }) => ({ name, type, nullable: notnull === 0 && pk === 0 }))
  const inRows = Object.entries(columns).map(([member, { type, nullable }]) => ({
    name: columnOf(member),
    type,
    nullable,
  }))
  const byName = (a: { name: string }, b: { name: string }) => a.name.localeCompare(b.name)
  expect(inRows.sort(byName)).toEqual(inSchema.sort(byName))
  store.close()
})

test('every table of the schema has a row type', () => {
  const store = openStoreAt(':memory:')
  const inSchema = store
    .all<{ name: string }>(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'messages_text%' ORDER BY name",
    )
    .map(({ name }) => name)
  expect(tables.map(({ name }) => name).sort()).toEqual(inSchema)
  store.close()
})
