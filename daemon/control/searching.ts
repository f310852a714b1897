/** Messages of this node's whole history by their words: those it sent and those it received. */
import type { ReplyOf } from '../../protocol/contract/route.ts'
import type { Operations } from '../../protocol/control/operations.ts'
import { present } from '../../protocol/encoding/present.ts'
import type { Contacts } from '../peers/contacts.ts'
import { refuse } from '../refusal.ts'
import type { Store } from '../store/open.ts'
import { indexMessages, messagesWith } from '../store/search.ts'
import { turnOf } from '../store/turns.ts'

const LIMIT_DEFAULT = 20
const CURSOR = /^\d{1,15}$/

/** The newest first, each with the place of its words. */
export function searchHistory(
  store: Store,
  contacts: Contacts,
  {
    words,
    interaction_id: within,
    limit = LIMIT_DEFAULT,
    cursor,
  }: {
    words: string
    interaction_id?: string | undefined
    limit?: number | undefined
    cursor?: string | undefined
  },
): NonNullable<ReplyOf<Operations['search']>> {
  if (cursor !== undefined && !CURSOR.test(cursor))
    refuse('bad_request', 'cursor: expected the next_cursor of the reply before')
  if (!/[\p{L}\p{N}]/u.test(words))
    refuse(
      'bad_request',
      'search takes words: all of them in any order, one with * at its end for any ending',
      'svc search quarterly report*',
    )
  // what cannot be written now, as on a full disk, can still be searched as far as it is indexed
  store.attempt(() => indexMessages(store))
  const before = cursor === undefined ? Number.MAX_SAFE_INTEGER : Number(cursor)
  const rows = messagesWith(store, words, { before, within, max: limit + 1 })
  const page = rows.slice(0, limit)
  return {
    matches: page.map(({ key, interaction, id, side, peer, direction, sender, at, excerpt }) => ({
      interaction_id: id,
      side,
      peer,
      peer_name: contacts.petnameOf(peer),
      from: sender,
      mine: direction === 'out',
      turn: turnOf(store, { key, interaction }),
      at,
      text: excerpt,
    })),
    ...present({ next_cursor: rows.length > limit ? String(page.at(-1)?.key) : undefined }),
  }
}
