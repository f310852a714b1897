/** What the node tells the page of its console when it serves it. */

/** Why the page has no token: it needs a ticket (`svc console`), by itself or as its owner wishes, or somebody who types the token. */
export type Lack = 'ticket' | 'wish' | 'loopback' | 'user' | 'browser'

export type Boot = {
  /** The build that the page is of. */
  build: string
  /** `host:port` of the node, over which it shows that it is the node. */
  address: string
} & ({ token: string } | { lacks: Lack })

/** Where the served page has what is new in every answer. */
export const bootMarks = { nonce: 'NONCE-OF-THIS-ANSWER', boot: 'BOOT-OF-THIS-ANSWER' } as const
