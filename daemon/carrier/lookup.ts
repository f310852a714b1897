/** What a look-up of an agent says, whoever was asked. */
import type { Peer } from '../peers/peers.ts'

/**
 * Why a look-up says nothing: no hub to ask, none that answered, one that refused, one that did not hear every hub that it
 * asks in turn, or an entry that does not verify here.
 */
export type NotKnown = 'no_hub' | 'unanswered' | 'refused' | 'incomplete' | 'unusable'
/** Only a complete answer says that an agent is not listed. `error`: what the hub did. */
export type Lookup =
  | { outcome: 'found'; peer: Peer }
  | { outcome: 'not_listed' }
  | { outcome: 'not_known'; why: NotKnown; error?: unknown }

/** The agent that a look-up found. */
export const foundIn = (looked: Lookup): Peer | undefined =>
  looked.outcome === 'found' ? looked.peer : undefined
