/**
 * What each action does to a card, who may take it, and from where. One table: the document draws it, the tests walk it.
 */
import type { BoardCard, BoardColumn, CardState } from '../../store/board-port.ts'

/** Columns that a creator moves a card between while nobody has taken it. */
export const freeColumns = ['draft', 'backlog', 'ready'] as const satisfies readonly BoardColumn[]

type Who = 'creator' | 'assignee' | 'either' | 'anybody'
type Place = { column: BoardColumn; state: CardState }

/** `from`: where a card must be; `to`: where it goes. `anybody` is whoever is registered here. */
export type Move = {
  who: Who
  from: readonly BoardColumn[]
  to: (card: BoardCard, asked: BoardColumn | undefined) => Place
}

const at = (column: BoardColumn, state: CardState) => (): Place => ({ column, state })

export const moves = {
  move: {
    who: 'creator',
    from: freeColumns,
    to: ({ column }, asked) => ({ column: asked ?? column, state: 'open' }),
  },
  claim: { who: 'anybody', from: ['ready'], to: at('in_progress', 'claimed') },
  submit: { who: 'assignee', from: ['in_progress'], to: at('in_review', 'submitted') },
  accept: { who: 'creator', from: ['in_review'], to: at('done', 'accepted') },
  reject: { who: 'creator', from: ['in_review'], to: at('in_progress', 'claimed') },
  block: {
    who: 'either',
    from: ['ready', 'in_progress', 'in_review'],
    to: ({ state }) => ({ column: 'blocked', state }),
  },
  unblock: {
    who: 'either',
    from: ['blocked'],
    to: ({ before = 'ready', state }) => ({ column: before, state }),
  },
} as const satisfies Record<string, Move>
export type MoveName = keyof typeof moves

/** Whether an agent may take an action on a card. */
export function mayTake({ who }: Move, { creator, assignee }: BoardCard, actor: string): boolean {
  if (who === 'anybody') return true
  if (who === 'creator') return actor === creator
  if (who === 'assignee') return actor === assignee
  return actor === creator || actor === assignee
}
