/** Agents that hubs tell each other of, so that each knows whom the others let be known. */

/** Something that peers are told; `fedSeq` rises, and is given once. */
export type ToldCard =
  | { fedSeq: number; kel: Uint8Array; keys: Uint8Array }
  /** An agent that was told before is told no more. */
  | { fedSeq: number; withdrawn: string }

/** What a peer told, in its order, as far as it holds. */
export type PeerCard = { aid: string; kel: Uint8Array } | { withdrawn: string }

export type TakePeerCards = {
  hub: string
  items: readonly PeerCard[]
  /** How far the peer was read with these. */
  fedSeq: number
  /** So many cards of this peer are kept, and no more. */
  max: number
}

export interface PeerCardStore {
  /** What peers are told after a number, in order: at least one where there is any, however large it is. */
  toldCards(query: { after: number; limit: number; bytesMax: number }): Promise<{
    told: ToldCard[]
    more: boolean
  }>
  /**
   * Keeps what a peer told and how far it was read; tells how many found no room. A repeat changes nothing. While an agent
   * is told, all peers are told of its reviews that were given here; else its home alone.
   */
  takePeerCards(given: TakePeerCards): Promise<{ left: number }>
  /** How far the cards of a peer were read; 0 at first. */
  peerCardsRead(hub: string): Promise<number>
  /** Forgets all agents of a peer, and how far it was read. */
  forgetPeerCards(hub: string): Promise<void>
  /** Hubs of which there are cards. */
  peersWithCards(): Promise<string[]>
  /** How many agents these hubs told of. */
  peerAgents(hubs: readonly string[]): Promise<number>
}
