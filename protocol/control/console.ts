/** What the node tells the page of its console when it serves it. */

/** Files that go along with one message at most. */
export const FILES_MAX = 64

/** Why the page has no session: it needs a ticket (`svc console`), by itself or as its owner wishes, or stands at an address that lasts. */
export type Lack = 'ticket' | 'wish' | 'loopback' | 'user' | 'place' | 'browser'

/** The session of the page and its key, or why it has none. */
export type Boot = {
  /** The build that the page is of. */
  build: string
} & ({ session: string; key: string } | { lacks: Lack })

/** Where the served page has what is new in every answer. */
export const bootMarks = { nonce: 'NONCE-OF-THIS-ANSWER', boot: 'BOOT-OF-THIS-ANSWER' } as const
