/** Rows of the contacts: a petname, or a block, for an AID. */
import { flag, integer, orNull, type RowOf, text } from './columns.ts'
import type { Store } from './open.ts'

export const contactsTable = {
  name: 'contacts',
  columns: { aid: text, petname: orNull(text), blocked: flag, addedAt: integer },
} as const
export type Contact = RowOf<typeof contactsTable>

/** Gives an agent its petname; a block of it ends. */
export function nameContact(store: Store, aid: string, petname: string, now: number): void {
  store.run(
    `INSERT INTO contacts (aid, petname, blocked, added_at) VALUES (?, ?, 0, ?)
     ON CONFLICT (aid) DO UPDATE SET petname = excluded.petname, blocked = 0`,
    aid,
    petname,
    now,
  )
}

/** Blocks an agent, which needs no petname for that. */
export function blockAgent(store: Store, aid: string, now: number): void {
  store.run(
    `INSERT INTO contacts (aid, petname, blocked, added_at) VALUES (?, NULL, 1, ?)
     ON CONFLICT (aid) DO UPDATE SET blocked = 1`,
    aid,
    now,
  )
}

/** Ends a block; of an agent without a petname nothing remains. */
export function unblockAgent(store: Store, aid: string): void {
  store.run('UPDATE contacts SET blocked = 0 WHERE aid = ?', aid)
  store.run('DELETE FROM contacts WHERE aid = ? AND petname IS NULL', aid)
}

export function removeContact(store: Store, aid: string): void {
  store.run('DELETE FROM contacts WHERE aid = ?', aid)
}

/** All of them, by their petnames; a nameless row whose block ended is none. */
export const allContacts = (store: Store): Contact[] =>
  store.rows('SELECT * FROM contacts WHERE petname IS NOT NULL OR blocked = 1 ORDER BY petname, aid')

/** The contact, or the block, of an agent. */
export function contactOf(store: Store, aid: string): Contact | undefined {
  return store.row('SELECT * FROM contacts WHERE aid = ?', aid)
}

/** The agent that has this petname. */
export const aidOfPetname = (store: Store, petname: string): string | undefined =>
  store.get<{ aid: string }>('SELECT aid FROM contacts WHERE petname = ?', petname)?.aid
