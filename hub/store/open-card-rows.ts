/** Cards of agents with open mail as engines keep them and as the hub sees them. */
import type { OpenCard, ToldOpenCard } from './open-card-port.ts'

/** `card` is null once its agent left. */
export type StoredOpenCard = { aid: string; seq: number; kel_seq: number; card: string | null }

export const openCardOf = (row: StoredOpenCard | undefined): OpenCard | undefined =>
  row?.card == null ? undefined : { aid: row.aid, seq: row.seq, kelSeq: row.kel_seq, card: row.card }

export type StoredToldOpenCard = StoredOpenCard & { card: string; fed_seq: number; kel: Uint8Array }

export const toldOpenCardOf = ({
  aid,
  seq,
  kel_seq: kelSeq,
  card,
  kel,
  fed_seq: fedSeq,
}: StoredToldOpenCard): ToldOpenCard => ({ aid, seq, kelSeq, card, kel, fedSeq })

/** What becomes of a card that is put over the one that is held. */
export function outcomeOfPut(
  { seq, card }: OpenCard,
  held: StoredOpenCard | undefined,
): 'stored' | 'unchanged' | 'older' {
  if (held === undefined) return 'stored'
  if (held.card === card) return 'unchanged'
  return held.seq >= seq ? 'older' : 'stored'
}
