/** Agents with open mail that peers told of: who they are, as far as their signed cards say. */

/** `kel`: its log, verified · `card`: its text as its agent signed it · `seq`: the number of the card. */
export type OpenPeerAgent = {
  aid: string
  name: string
  caps: string[]
  summary: string
  kel: Uint8Array
  card: string
  seq: number
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
  /**
   * Keeps what a peer told; tells how many found no room. No card takes the place of one with a higher number, of this
   * peer or another, or that its agent had here; one of the same number stays as it came first.
   */
  takeOpenAgents(given: TakeOpenAgents): Promise<{ left: number }>
  /** How far a peer was read; 0 at first. */
  openAgentsRead(hub: string): Promise<number>
  /** Reads a peer from the start again, and keeps meanwhile what it told. */
  rereadOpenAgents(hub: string): Promise<void>
  /** A peer was read to its end: what it told before that reading began, and not since, is forgotten. */
  dropUntold(hub: string): Promise<void>
  /** Peers that told of any agent, or were read. */
  hubsOfOpenAgents(): Promise<string[]>
  /** Which of these hubs told of an agent, the first one first. */
  hubsTelling(aid: string, hubs: readonly string[]): Promise<string[]>
  /** Forgets all agents of a peer, and how far it was read. */
  forgetOpenAgents(hub: string): Promise<void>
  /** An agent that any of these hubs told of. */
  openPeerAgent(aid: string, hubs: readonly string[]): Promise<ToldOpenAgent | undefined>
  /** Each agent once, in the order in which they came; `limit` are read for one page, and `next` goes on behind it. */
  openPeerAgents(query: OpenPeersQuery): Promise<{ agents: ToldOpenAgent[]; next: number | undefined }>
  /** How many agents these hubs told of. */
  openPeerCount(hubs: readonly string[]): Promise<number>
}
