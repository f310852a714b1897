/** Going about: from row to row, from screen to screen, through a conversation and the places that were found in it. */

import type { Action } from '../view/keys.ts'
import { type Screen, screens } from '../view/rows.ts'
import { type Placed, placed } from './conversation.ts'
import { bufferOf, emptyBuffer } from './edit.ts'
import { layoutOf } from './layout.ts'
import type { Effect, Model } from './model.ts'
import type { Press } from './press.ts'
import { paneOf, type Scene, type Step, stay, toast, withPane } from './scene.ts'

type Move = 'next' | 'previous' | 'first' | 'last' | 'half_down' | 'half_up' | 'page_down' | 'page_up'
const MOVES: readonly string[] = [
  'next',
  'previous',
  'first',
  'last',
  'half_down',
  'half_up',
  'page_down',
  'page_up',
]

/** How far a move goes: rows down, or to an end. */
function distance(move: Move, count: number, page: number): number {
  const half = Math.max(1, Math.floor(page / 2))
  switch (move) {
    case 'next':
      return count
    case 'previous':
      return -count
    case 'half_down':
      return half * count
    case 'half_up':
      return -half * count
    case 'page_down':
      return page * count
    case 'page_up':
      return -page * count
    case 'first':
      return Number.NEGATIVE_INFINITY
    case 'last':
      return Number.POSITIVE_INFINITY
  }
}

export function moved(scene: Scene, action: Action, press: Press): Step | undefined {
  const { model } = scene
  if (action === 'screen') return toScreen(model, screens[Number(press.key) - 1] as Screen)
  if (action === 'next_screen' || action === 'previous_screen') {
    const by = action === 'next_screen' ? 1 : screens.length - 1
    return toScreen(model, screens[(screens.indexOf(model.screen) + by) % screens.length] as Screen)
  }
  if (!MOVES.includes(action)) return undefined
  const layout = layoutOf(model, scene.view, scene.now)
  const by = distance(action as Move, Number(model.count) || 1, Math.max(1, layout.body - 2))
  if (model.thread !== undefined) return stay(scrolledThread(scene, model.thread, by))
  const isByPage = action.startsWith('half') || action.startsWith('page')
  if (model.screen === 'node' && isByPage) return stay(scrolledNode(model, by))
  return movedRow(scene, action as Move, by)
}

/** What the node says of itself, some lines on. */
export const scrolledNode = (model: Model, by: number): Model => ({
  ...model,
  nodeTop: Math.max(0, Math.min(model.nodeTop + by, 10_000)),
})

type OpenThread = NonNullable<Model['thread']>

/** The conversation as it stands on the screen now. */
function placedNow({ model, view, cache, now }: Scene, thread: OpenThread): Placed {
  const { threadColumns: width, body, composer } = layoutOf(model, view, now)
  return placed({ model, view, cache, now }, thread.id, { width, height: body - composer }, thread)
}

/** From where it stands now, wherever it began. */
export function scrolledThread(scene: Scene, thread: OpenThread, by: number): Model {
  const { up, furthest } = placedNow(scene, thread)
  const to = Math.min(Math.max(0, up - by), furthest)
  return { ...scene.model, thread: lookingAt(thread, { up: to }) }
}

/** The same conversation at another place. */
export function lookingAt(thread: OpenThread, place: { up: number; hit?: number }): OpenThread {
  const { begin: _begin, unread: _unread, hit: _hit, ...rest } = thread
  return { ...rest, ...place }
}

/** `/` in a conversation, and going from one place that was found to another. */
export function searched(scene: Scene, action: Action): Step | undefined {
  const { model } = scene
  if (action === 'search_all')
    return stay({ ...model, foundAt: 0, prompt: { kind: 'search_all', buffer: emptyBuffer } })
  const { thread } = model
  if (thread === undefined) return undefined
  if (action === 'search')
    return stay(
      { ...model, prompt: { kind: 'search', buffer: bufferOf(thread.find ?? '') } },
      { type: 'read_on', id: thread.id, all: true },
    )
  if (action === 'more_text')
    return stay(
      { ...model, thread: { ...thread, part: (thread.part ?? 0) + 1 } },
      { type: 'read_on', id: thread.id, all: false },
    )
  if (action !== 'next_hit' && action !== 'previous_hit') return undefined
  if (thread.find === undefined) return stay(toast(model, '/ searches in this conversation'))
  const { hits, up } = placedNow(scene, thread)
  if (hits === 0) return stay(toast(model, `nothing here holds “${thread.find}”`))
  const by = action === 'next_hit' ? 1 : hits - 1
  const hit = ((thread.hit ?? 0) + by) % hits
  return stay(
    toast(
      { ...model, thread: lookingAt(thread, { up, hit }) },
      `${hit + 1} of ${hits}; n the next, p the one before`,
    ),
  )
}

export function movedRow(scene: Scene, move: Move, by: number): Step {
  const { model, view, cache } = scene
  const { ids } = cache.rows(model, view)
  const at = Math.max(0, ids.indexOf(paneOf(model).selected ?? ''))
  const counted = move === 'last' && model.count !== '' ? Number(model.count) - 1 : at + by
  const to = Math.min(Math.max(0, counted), Math.max(0, ids.length - 1))
  const wantsAll = move === 'last' && model.count === ''
  const isNearEnd = to >= ids.length - 50
  const effects: Effect[] = wantsAll ? [{ type: 'all' }] : isNearEnd ? [{ type: 'more' }] : []
  return { model: withPane(model, { selected: ids[to] }), effects }
}

function toScreen(model: Model, screen: Screen): Step {
  const { thread, ...rest } = model
  const effects: Effect[] = thread === undefined ? [] : [{ type: 'close_thread' }]
  return { model: { ...rest, screen }, effects: [...effects, { type: 'screen', screen }] }
}
