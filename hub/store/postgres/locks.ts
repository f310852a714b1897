/** What a change locks, and how a group takes the locks of all its changes. */
import type { Queries } from './connections.ts'

/**
 * `subjects` are names of what is no row of a mailbox. `aids` may have no row yet; of `judgedBy` those that have one are
 * locked.
 */
export type Locks = {
  subjects?: readonly string[]
  aids?: readonly string[]
  judgedBy?: readonly string[]
  mailboxes?: readonly number[]
}

export const withSubjects = ({ subjects = [], ...locks }: Locks, ...more: readonly string[]): Locks => ({
  ...locks,
  subjects: [...more, ...subjects],
})

export const namesOf = ({ subjects = [], aids = [], mailboxes = [], judgedBy = [] }: Locks): string[] => [
  ...subjects.map(name => `subject ${name}`),
  ...[...aids, ...judgedBy].map(aid => `agent ${aid}`),
  ...mailboxes.map(number => `mailbox ${number}`),
]

/**
 * An agent that has no row yet is locked by its name. The server has room for some thousand such locks in all, so that
 * agents share some of them, however many are written at once.
 */
const NAMES_OF_AGENTS = 256
const HASH = 'hashtextextended(name, 0)'
const HASH_OF_AGENT = `hashtextextended(aid, 0) & ${NAMES_OF_AGENTS - 1}`
const LOCK_NAMES =
  `SELECT pg_advisory_xact_lock(h) FROM (SELECT ${HASH} AS h FROM unnest($1::text[]) AS name` +
  ` UNION SELECT ${HASH_OF_AGENT} FROM unnest($2::text[]) AS aid ORDER BY h) AS sorted`
const LOCK_AGENTS =
  'SELECT number FROM agent WHERE number = ANY($1::bigint[]) OR aid = ANY($2::text[]) ORDER BY number FOR UPDATE'
/** Those that somebody else holds. */
const TRY_NAMES =
  `SELECT 'subject ' || name AS name FROM unnest($1::text[]) AS name WHERE NOT pg_try_advisory_xact_lock(${HASH})` +
  ` UNION ALL SELECT 'agent ' || aid FROM unnest($2::text[]) AS aid WHERE NOT pg_try_advisory_xact_lock(${HASH_OF_AGENT})`
const TRY_AGENTS =
  'WITH free AS (SELECT number FROM agent WHERE number = ANY($1::bigint[]) OR aid = ANY($2::text[]) FOR UPDATE SKIP LOCKED)' +
  ' SELECT number, aid FROM agent WHERE (number = ANY($1::bigint[]) OR aid = ANY($2::text[]))' +
  ' AND number NOT IN (SELECT number FROM free)'

/** All of what they lock, each once. */
function together(all: readonly Locks[]) {
  const of = <T>(read: (locks: Locks) => readonly T[] | undefined): T[] => [
    ...new Set(all.flatMap(locks => read(locks) ?? [])),
  ]
  const aids = of(locks => locks.aids)
  return {
    subjects: of(locks => locks.subjects),
    aids,
    mailboxes: of(locks => locks.mailboxes),
    rows: [...aids, ...of(locks => locks.judgedBy)],
  }
}

/** Takes all of them, in one order, and waits for those that others hold. */
export async function takeLocks(db: Queries, all: readonly Locks[]): Promise<void> {
  const { subjects, aids, mailboxes, rows } = together(all)
  await Promise.all([
    subjects.length + aids.length > 0 && db.run(LOCK_NAMES, subjects, aids),
    mailboxes.length + rows.length > 0 && db.run(LOCK_AGENTS, mailboxes, rows),
  ])
}

/** Takes those that nobody else holds, and tells the names of the others. */
export async function takeFreeLocks(db: Queries, all: readonly Locks[]): Promise<Set<string>> {
  const { subjects, aids, mailboxes, rows } = together(all)
  const names = await db.all<{ name: string }>(TRY_NAMES, subjects, aids)
  const agents = await db.all<{ number: number; aid: string }>(TRY_AGENTS, mailboxes, rows)
  return new Set([
    ...names.map(({ name }) => name),
    ...agents.flatMap(({ number, aid }) => [`mailbox ${number}`, `agent ${aid}`]),
  ])
}
