/** What a press is judged by, and what comes of it; the small changes that all of them share. */
import { wordsOf } from '../protocol/encoding/errors.ts'
import { cleanLine } from '../view/clean.ts'
import { NodeGone } from '../view/node-client.ts'
import type { Screen } from '../view/rows.ts'
import type { Tone } from '../view/sentences.ts'
import type { View } from '../view/state.ts'
import type { Effect, Model, Pane } from './model.ts'
import type { RowCache } from './rows.ts'

export type Step = { readonly model: Model; readonly effects: readonly Effect[] }
export type Scene = {
  readonly model: Model
  readonly view: View
  readonly cache: RowCache
  readonly now: number
}

export const stay = (model: Model, ...effects: Effect[]): Step => ({ model, effects })
export const toast = (model: Model, says: string, tone: Tone = 'plain'): Model => ({
  ...model,
  toast: { says, tone },
})

/** What was not answered may have been done: nothing before it is taken back in its place. */
export const unsure = (model: Model, error: unknown): Model =>
  error instanceof NodeGone ? { ...model, undo: { says: cleanLine(wordsOf(error), 600) } } : model

export const paneOf = (model: Model): Pane => model.panes[model.screen]
export const withPane = (model: Model, pane: Partial<Pane>, screen: Screen = model.screen): Model => ({
  ...model,
  panes: { ...model.panes, [screen]: { ...model.panes[screen], ...pane } },
})

/** Lines that stand below in the conversation that is only looked at. */
export const peekOf = ({ peek }: Pick<Model, 'peek'>, id: string | undefined): number =>
  peek?.id === id ? (peek?.up ?? 0) : 0

/** The value with one member left out. */
export function without<T extends object, K extends keyof T>(value: T, name: K): Omit<T, K> {
  const { [name]: _left, ...rest } = value
  return rest
}
