/** What a click or the wheel means where it happens. Pure; the frame is the one that was seen. */
import { type Line, segmentAt } from './cells.ts'
import { placed } from './conversation.ts'
import { withValue } from './form.ts'
import { layoutOf } from './layout.ts'
import { isTooSmall, type Model } from './model.ts'
import type { Mouse } from './mouse.ts'
import { movedRow, scrolledNode, scrolledThread } from './moves.ts'
import type { Press } from './press.ts'
import { paneOf, peekOf, type Scene, type Step, stay, withPane } from './scene.ts'
import { placeOf, pressed } from './update.ts'

/** Lines of a text for one step of the wheel; in a list it is one row. */
const LINES = 3

export function pointed(scene: Scene, lines: readonly Line[], mouse: Mouse): Step {
  if (isTooSmall(scene.model.size)) return stay(scene.model)
  return mouse.kind === 'click' ? clicked(scene, lines, mouse) : wheeled(scene, mouse)
}

/** As if the key had been pressed that stands there. */
function clicked(scene: Scene, lines: readonly Line[], { x, y }: Mouse): Step {
  const { model } = scene
  const found = segmentAt(lines[y] ?? [], x)
  if (found?.press !== undefined) return pressed(scene, pressOf(found.press))
  if (found?.row !== undefined) return clickedRow(scene, found.row)
  const place = placeOf(model)
  if ((place === 'inbox' || place === 'sent') && isBeside(scene, x, y))
    return pressed(scene, pressOf('enter'))
  return stay(model)
}

const pressOf = (key: string): Press => ({ key, ...(key.length === 1 && { text: key }) })

/** A row that is selected is opened, another one is selected; beside an open conversation its own takes its place. */
function clickedRow(scene: Scene, row: string): Step {
  const { model } = scene
  if (model.prompt?.kind === 'search_all')
    return model.foundAt === Number(row)
      ? pressed(scene, pressOf('enter'))
      : stay({ ...model, foundAt: Number(row) })
  if (model.form !== undefined)
    return placeOf(model) === 'form' ? stay(withValue(model, model.form, row)) : stay(model)
  if (model.prompt?.kind === 'filter') {
    const { model: taken } = pressed(scene, pressOf('enter'))
    return stay(withPane(taken, { selected: row }))
  }
  const place = placeOf(model)
  if (place !== model.screen && place !== 'thread') return stay(model)
  const selected = withPane(model, { selected: row })
  if (model.thread === undefined)
    return paneOf(model).selected === row ? pressed(scene, pressOf('enter')) : stay(selected)
  const unread = scene.view.interactions.get(row)?.unread ?? 0
  return stay(
    { ...selected, thread: { id: row, up: 0, unread } },
    { type: 'open_thread', id: row, read: true },
  )
}

/** Whether a place is in the pane beside the list. */
function isBeside({ model, view, now }: Scene, x: number, y: number): boolean {
  const layout = layoutOf(model, view, now)
  return layout.isWide && x > layout.listColumns && y >= HEAD + layout.banners && y < model.size.rows - 1
}
const HEAD = 2

/** Above the list of what can be set, or beside it. */
function isOnNodePage(scene: Scene, x: number, y: number): boolean {
  const { model, view, now } = scene
  const { isWide, settings } = layoutOf(model, view, now)
  return isWide ? isBeside(scene, x, y) : y < model.size.rows - 1 - settings
}

function wheeled(scene: Scene, { kind, x, y }: Mouse): Step {
  const { model } = scene
  const by = kind === 'wheel_up' ? -1 : 1
  const key = by < 0 ? 'up' : 'down'
  switch (placeOf(model)) {
    case 'help':
    case 'output':
    case 'confirm':
    case 'form':
      return again(scene, key, LINES)
    case 'prompt':
      return model.prompt?.kind === 'search_all' ? again(scene, key, 1) : stay(model)
    case 'thread':
    case 'compose':
      return model.thread === undefined || (isWide(scene) && !isBeside(scene, x, y))
        ? stay(model)
        : stay(scrolledThread(scene, model.thread, by * LINES))
    case 'inbox':
    case 'sent':
      return isBeside(scene, x, y) ? stay(peeked(scene, by * LINES)) : movedRow(scene, 'next', by)
    case 'agents':
    case 'evidence':
      return movedRow(scene, 'next', by)
    case 'node':
      return isOnNodePage(scene, x, y) ? stay(scrolledNode(model, by * LINES)) : movedRow(scene, 'next', by)
    default:
      return stay(model)
  }
}

const isWide = ({ model, view, now }: Scene): boolean => layoutOf(model, view, now).isWide

function again(scene: Scene, key: string, times: number): Step {
  let step = stay(scene.model)
  for (let n = 0; n < times; n += 1) {
    const next = pressed({ ...scene, model: step.model }, { key })
    step = stay(next.model, ...step.effects, ...next.effects)
  }
  return step
}

/** The conversation beside the list, which is not open, some lines on. */
function peeked(scene: Scene, by: number): Model {
  const { model, view, now } = scene
  const { selected } = paneOf(model)
  if (selected === undefined) return model
  const { threadColumns: width, body: height } = layoutOf(model, view, now)
  const { up, furthest } = placed(scene, selected, { width, height }, { up: peekOf(model, selected) })
  return { ...model, peek: { id: selected, up: Math.min(Math.max(0, up - by), furthest) } }
}
