/** Signed cards of agents with open mail, kept as text. */

/** `seq`: the number that the card has in its agent's own order · `kelSeq`: the key state that signed it. */
export type OpenCard = { aid: string; seq: number; kelSeq: number; card: string }

export interface OpenCardStore {
  /** Keeps a card whose number is higher than that of any that its agent had here; the same card again changes nothing. */
  putOpenCard(card: OpenCard): Promise<{ outcome: 'stored' | 'unchanged' | 'older' }>
  openCard(aid: string): Promise<OpenCard | undefined>
  /** Takes the card of an agent away, and remembers its number. */
  removeOpenCard(aid: string): Promise<void>
}
