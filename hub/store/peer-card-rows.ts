/** Agents that hubs tell each other of, as engines keep them and as the hub sees them. */
import type { PeerCard, ToldCard } from './peer-card-port.ts'

/** Key history and key set of one that is told; without the latter it is withdrawn. */
export type StoredToldCard = {
  fed_seq: number
  aid: string
  kel: Uint8Array | null
  keys: Uint8Array | null
}

/** An agent that left between two reads is told as withdrawn; what it left under comes later. */
export const toldCardOf = ({ fed_seq: fedSeq, aid, kel, keys }: StoredToldCard): ToldCard =>
  kel === null || keys === null ? { fedSeq, withdrawn: aid } : { fedSeq, kel, keys }

export const aidOfCard = (item: PeerCard): string => ('aid' in item ? item.aid : item.withdrawn)

/** Whether peers are told, now that an agent was written, when `wasTold` says what they have. */
export const isCardNews = (wasTold: boolean, { isTold, isSame }: { isTold: boolean; isSame: boolean }) =>
  wasTold ? !(isTold && isSame) : isTold
