/** The ids of the rows of a screen in their order, made anew only when what they depend on has changed. */
import type { InteractionSummary } from '../protocol/control/shapes.ts'
import { agentRows, evidenceRows, type Screen, taskItems } from '../view/rows.ts'
import type { View } from '../view/state.ts'
import type { Model } from './model.ts'
import { settingIds } from './settings-list.ts'

export type Rows = { readonly ids: readonly string[]; readonly items: readonly InteractionSummary[] }

const SETTINGS: Rows = { ids: settingIds, items: [] }

/** Rows of the screens, kept while view and filter stay. */
export class RowCache {
  readonly #kept = new Map<Screen, { parts: readonly unknown[]; rows: Rows }>()

  rows(model: Model, view: View, screen: Screen = model.screen): Rows {
    const parts = partsOf(model, view, screen)
    const kept = this.#kept.get(screen)
    if (kept?.parts.every((part, i) => part === parts[i]) === true) return kept.rows
    const rows = made(model, view, screen)
    this.#kept.set(screen, { parts, rows })
    return rows
  }
}

function partsOf(model: Model, view: View, screen: Screen): readonly unknown[] {
  const { filter } = model.panes[screen]
  if (screen === 'agents') return [view.agents.found, filter]
  if (screen === 'evidence') return [view.evidence.records, filter]
  if (screen === 'node') return []
  return [view.interactions, view.found, filter, model.pendingOnly, model.archivedOnly]
}

function made(model: Model, view: View, screen: Screen): Rows {
  const { filter } = model.panes[screen]
  if (screen === 'node') return SETTINGS
  if (screen === 'agents') return { ids: agentRows(view, 0, filter).map(row => row.id), items: [] }
  if (screen === 'evidence') return { ids: evidenceRows(view, 0, filter).map(row => row.id), items: [] }
  const side = screen === 'inbox' ? 'received' : 'sent'
  const { pendingOnly, archivedOnly: archived } = model
  const items = taskItems(view, side, { pendingOnly, archived, filter })
  return { ids: items.map(item => item.interaction_id), items }
}
