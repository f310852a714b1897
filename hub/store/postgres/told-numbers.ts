/**
 * Numbers under which peers are told of something. Whoever reads on after one may miss nothing, so they are given in the
 * order of commits: by one process at a time, to what is committed, once a peer asks. So none of those who change what is
 * told waits for another one.
 */
import type { Queries } from './connections.ts'
import type { Write } from './groups.ts'
import type { Writer } from './writes.ts'

/** Each has a sequence for the numbers in `fed_seq`, and in `n` the order in which its rows came. */
export const toldTables = ['told_review', 'told_card', 'open_card'] as const
export type ToldTable = (typeof toldTables)[number]

/** Other writes have their turn in between. */
const NUMBERED_AT_ONCE = 1000

const pendingIn = (table: ToldTable): string =>
  `SELECT n FROM ${table} WHERE fed_seq IS NULL ORDER BY n LIMIT $1`

/** What is being changed is passed over: its change takes it away, or gives it a new place. */
const numberingOf = (table: ToldTable): string =>
  `WITH pending AS (${pendingIn(table)} FOR UPDATE SKIP LOCKED),` +
  ` numbered AS (SELECT n, nextval('${table}_seq') AS given FROM (SELECT n FROM pending ORDER BY n) AS sorted)` +
  ` UPDATE ${table} SET fed_seq = given FROM numbered WHERE ${table}.n = numbered.n`

/** Numbers some; whether those were all. */
export const numberTold: Write<ToldTable, boolean> = {
  locks: table => ({ subjects: [`numbers of ${table}`] }),
  make: numberSome,
}

export async function numberSome(db: Queries, table: ToldTable): Promise<boolean> {
  return (await db.run(numberingOf(table), NUMBERED_AT_ONCE)) < NUMBERED_AT_ONCE
}

/** Whatever was committed before has its number after this. */
export async function numberAll(reader: Queries, writer: Writer, table: ToldTable): Promise<void> {
  if ((await reader.one(pendingIn(table), 1)) === undefined) return
  while (!(await writer.write('numberTold', table)));
}
