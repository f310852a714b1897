/** Agents with open mail that peers told of, as engines keep them and as the hub sees them. */
import type { ToldOpenAgent } from './open-peer-port.ts'

export type StoredPeerAgent = Omit<ToldOpenAgent, 'caps'> & { n: number; caps: string; pass: number }

export const peerAgentOf = ({ n: _, pass: __, caps, ...agent }: StoredPeerAgent): ToldOpenAgent => ({
  ...agent,
  caps: JSON.parse(caps) as string[],
})

/** How far a peer was read, how many of its agents are kept, and how often it was begun anew. */
export type StoredPeerRead = { fed_seq: number; agents: number; pass: number }
export const UNREAD: StoredPeerRead = { fed_seq: 0, agents: 0, pass: 0 }
