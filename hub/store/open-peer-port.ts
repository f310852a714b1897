/** Agents with open mail that peers told of: who they are, as far as their signed cards say. */

/** `kel`: its log, verified · `card`: its text as its agent signed it. */
export type OpenPeerAgent = {
  aid: string
  name: string
  caps: string[]
  summary: string
  kel: Uint8Array
  card: string
}
/** `hub`: the one that told first of it. */
export type ToldOpenAgent = OpenPeerAgent & { hub: string }

export type TakeOpenAgents = {
  hub: string
  agents: readonly OpenPeerAgent[]
  /** How far the peer was read with these. */
  fedSeq: number
  /** So many agents of this peer are kept, and no more. */
  max: number
}

/** `caps`: only those with any of these tags; `*` at the end of one stands for a family. */
export type OpenPeersQuery = {
  hubs: readonly string[]
  after: number
  limit: number
  caps: readonly string[]
}

export interface OpenPeerStore {
  /** Keeps what a peer told, each agent as it was told last; tells how many found no room. */
  takeOpenAgents(given: TakeOpenAgents): Promise<{ left: number }>
  /** How far a peer was read; 0 at first. */
  openAgentsRead(hub: string): Promise<number>
  /** Forgets all agents of a peer, and how far it was read. */
  forgetOpenAgents(hub: string): Promise<void>
  /** An agent that any of these hubs told of. */
  openPeerAgent(aid: string, hubs: readonly string[]): Promise<ToldOpenAgent | undefined>
  /** Each agent once, in the order in which they came; `limit` are read for one page, and `next` goes on behind it. */
  openPeerAgents(query: OpenPeersQuery): Promise<{ agents: ToldOpenAgent[]; next: number | undefined }>
  /** How many agents these hubs told of. */
  openPeerCount(hubs: readonly string[]): Promise<number>
}
