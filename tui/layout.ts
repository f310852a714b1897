/** How the lines of the terminal are divided: by update and frame alike. */
import { banners, type Face } from '../view/faces.ts'
import type { View } from '../view/state.ts'
import { type Model, WIDE } from './model.ts'

export type Layout = {
  readonly isWide: boolean
  /** Lines between the head and the foot. */
  readonly body: number
  readonly banners: number
  readonly listColumns: number
  readonly threadColumns: number
  /** Lines of the list of what can be set, on the screen of the node. */
  readonly settings: number
  /** Lines of the composer with its frame; 0 where nothing is written. */
  readonly composer: number
}

const HEAD = 2
const FOOT = 1
const BANNERS_MAX = 2
const COMPOSER_LINES = 8
const SETTINGS_LINES = 10

const NOBODY: Face = {
  kind: 'node_down',
  tone: 'wait',
  says: 'there is no node here yet',
  next: 'U starts one',
}

/** What is wrong now; that nobody has made a node here is no fault. */
export function bannersOf({ isNew, isWelcome }: Model, view: View, now: number): readonly Face[] {
  if (!isNew) return banners(view, now)
  return isWelcome ? [] : [NOBODY]
}

export function layoutOf(model: Model, view: View, now: number): Layout {
  const { columns, rows } = model.size
  const shownBanners = Math.min(bannersOf(model, view, now).length, rows >= 16 ? BANNERS_MAX : 1)
  const body = Math.max(1, rows - HEAD - FOOT - shownBanners)
  const isWide = columns >= WIDE
  const listColumns = isWide ? Math.max(48, Math.floor(columns * 0.45)) : columns
  return {
    isWide,
    body,
    banners: shownBanners,
    listColumns,
    threadColumns: isWide ? columns - listColumns - 1 : columns,
    settings: isWide ? body : Math.max(3, Math.min(SETTINGS_LINES, Math.floor(body / 2))),
    composer:
      model.composer === undefined ? 0 : Math.min(COMPOSER_LINES + 2, Math.max(4, Math.floor(body / 2))),
  }
}

/** Lines over the rows of a list. */
export const listOverhead = (model: Model): number =>
  model.screen === 'node' || hasFilterLine(model) ? 1 : 0

/** Over a list stands what is left out of it, and how many rows are marked. */
export const hasFilterLine = ({ panes, screen, pendingOnly, archivedOnly, marks }: Model): boolean =>
  panes[screen].filter !== '' ||
  ((screen === 'inbox' || screen === 'sent') && (pendingOnly || archivedOnly || marks.size > 0))

/** Lines in which rows stand. */
export const rowsOf = (model: Model, layout: Layout): number =>
  Math.max(1, (model.screen === 'node' ? layout.settings : layout.body) - listOverhead(model))
