/** How the lines of the terminal are divided: by update and frame alike. */
import { banners } from '../view/faces.ts'
import type { View } from '../view/state.ts'
import { type Model, WIDE } from './model.ts'

export type Layout = {
  readonly isWide: boolean
  /** Lines between the head and the foot. */
  readonly body: number
  readonly banners: number
  readonly listColumns: number
  readonly threadColumns: number
  /** Lines of the composer with its frame; 0 where nothing is written. */
  readonly composer: number
}

const HEAD = 2
const FOOT = 1
const BANNERS_MAX = 2
const COMPOSER_LINES = 8

export function layoutOf(model: Model, view: View, now: number): Layout {
  const { columns, rows } = model.size
  const shownBanners = Math.min(banners(view, now).length, rows >= 16 ? BANNERS_MAX : 1)
  const body = Math.max(1, rows - HEAD - FOOT - shownBanners)
  const hasConversation = model.screen === 'inbox' || model.screen === 'sent'
  const isWide =
    columns >= WIDE && (hasConversation || model.screen === 'agents' || model.screen === 'evidence')
  const listColumns = isWide ? Math.max(48, Math.floor(columns * 0.45)) : columns
  return {
    isWide,
    body,
    banners: shownBanners,
    listColumns,
    threadColumns: isWide ? columns - listColumns - 1 : columns,
    composer:
      model.composer === undefined ? 0 : Math.min(COMPOSER_LINES + 2, Math.max(4, Math.floor(body / 2))),
  }
}

/** Lines over the rows of a list. */
export const listOverhead = (model: Model): number =>
  model.panes[model.screen].filter !== '' || model.pendingOnly ? 1 : 0
