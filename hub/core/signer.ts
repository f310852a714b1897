/** Who signed a request, once that is certain. Each kind has rows that take it, and its own way to be known. */
import type { Agent } from './agents.ts'
import type { Peer } from './federation/peers.ts'

export type Signer =
  | { readonly kind: 'agent'; readonly agent: Agent }
  /** `floorMs`: the floor of its times when the head of the request came, where its body is judged as it comes. */
  | { readonly kind: 'hub'; readonly peer: Peer; readonly floorMs?: number }
