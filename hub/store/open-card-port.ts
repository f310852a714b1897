/** Signed cards of agents with open mail, kept as text. */

/** `seq`: the number that the card has in its agent's own order · `kelSeq`: the key state that signed it. */
export type OpenCard = { aid: string; seq: number; kelSeq: number; card: string }

/** As peers are told of it: `kel` is the log of its agent. `fedSeq` rises, and is given once. */
export type ToldOpenCard = OpenCard & { fedSeq: number; kel: Uint8Array }

export interface OpenCardStore {
  /** Keeps a card whose number is higher than that of any that its agent had here; the same card again changes nothing. */
  putOpenCard(card: OpenCard): Promise<{ outcome: 'stored' | 'unchanged' | 'older' }>
  openCard(aid: string): Promise<OpenCard | undefined>
  /** A card that is kept has a new place in the order in which peers read; nothing where there is none. */
  retellOpenCard(aid: string): Promise<void>
  /**
   * Cards after a number, in order, of agents that are registered with open mail and not `hub-local`: the first one however
   * large it is. So many cards are looked at for one page, which may be empty and not the last; `next` goes on behind it.
   */
  toldOpenCards(query: {
    after: number
    limit: number
    bytesMax: number
    lookedMax: number
  }): Promise<{ told: ToldOpenCard[]; next: number | undefined }>
  /** Takes the card of an agent away, and remembers its number. */
  removeOpenCard(aid: string): Promise<void>
}
