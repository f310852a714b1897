/** From one model to the next by a press of a key, and what has to be done for it. Pure. */

import { type Action, actionOf, type Focus } from '../view/keys.ts'
import { keepSelection, screens } from '../view/rows.ts'
import type { View } from '../view/state.ts'
import { NOTHING_TO_UNDO, sayNoUndo } from '../view/undo.ts'
import { bufferOf, emptyBuffer } from './edit.ts'
import { pressForm } from './form.ts'
import { layoutOf, rowsOf } from './layout.ts'
import { type Confirm, type Effect, isTooSmall, type Model, type Pane } from './model.ts'
import { moved, searched } from './moves.ts'
import { onAgents } from './on-agents.ts'
import { onMarks } from './on-marks.ts'
import { onNode } from './on-node.ts'
import { confirmNow, isAnswered, onTasks } from './on-tasks.ts'
import { confirmScroll } from './overlays.ts'
import type { Press } from './press.ts'
import { paneOf, type Scene, type Step, stay, toast, without, withPane } from './scene.ts'
import { pressCompose, pressPrompt } from './writing.ts'

/** Where keys go now. */
export function placeOf(model: Model): Focus {
  if (model.confirm !== undefined) return 'confirm'
  if (model.refused !== undefined) return 'refused'
  if (model.help !== undefined) return 'help'
  if (model.output !== undefined) return 'output'
  if (model.prompt !== undefined) return 'prompt'
  if (model.form !== undefined) return 'form'
  if (model.composer !== undefined) return 'compose'
  if (model.isWelcome) return 'welcome'
  return model.thread === undefined ? model.screen : 'thread'
}

export function pressed(scene: Scene, press: Press): Step {
  const { model } = scene
  const place = placeOf(model)
  if (model.isReader !== true && isTooSmall(model.size)) return pressedUnseen(model, press)
  // a terminal sends esc and a letter as it sends alt and that letter
  const behindEsc =
    place === 'compose' || place === 'prompt' || place === 'form'
      ? undefined
      : /^alt-(.+)$/su.exec(press.key)?.[1]
  return behindEsc === undefined ? pressedAt(scene, place, press) : inOrder(scene, ['esc', behindEsc])
}

/** Nothing is done on a screen that nobody sees but to leave it. */
function pressedUnseen(model: Model, { key }: Press): Step {
  if (key === 'q' || key === 'ctrl-c') return stay({ ...model, isQuitting: true }, { type: 'quit' })
  return key === 'ctrl-z' ? stay(model, { type: 'suspend' }) : stay(model)
}

function inOrder(scene: Scene, names: readonly string[]): Step {
  let step = stay(scene.model)
  for (const key of names) {
    const next = pressedAt({ ...scene, model: step.model }, placeOf(step.model), { key, text: key })
    step = stay(next.model, ...step.effects, ...next.effects)
  }
  return step
}

function pressedAt(scene: Scene, place: Focus, press: Press): Step {
  const model = scene.model.toast === undefined ? scene.model : { ...scene.model, toast: undefined }
  const cleared = { ...scene, model }
  if (place === 'compose') return pressCompose(cleared, press)
  if (place === 'prompt') return pressPrompt(cleared, press)
  if (place === 'form') return pressForm(cleared, press)
  if (isBrowsing(place) && isDigit(press.key, model))
    return stay({ ...model, count: model.count + press.key })
  const action = actionOf(place, press.key)
  const step = action === undefined ? stay(model) : doneIn(cleared, place, action, press)
  return step.model.count === '' ? step : { ...step, model: { ...step.model, count: '' } }
}

const isBrowsing = (place: Focus): boolean =>
  place === 'thread' || (screens as readonly string[]).includes(place)

/** A digit begins a count where it names no screen, and goes on with one that was begun. */
function isDigit(key: string, { count }: Model): boolean {
  if (!/^\d$/.test(key)) return false
  return count !== '' ? count.length < 6 : /[6-9]/.test(key)
}

function doneIn(scene: Scene, place: Focus, action: Action, press: Press): Step {
  if (place === 'confirm') return answered(scene, action)
  if (place === 'refused')
    return action === 'suspend'
      ? stay(scene.model, { type: 'suspend' })
      : stay(without(scene.model, 'refused'))
  if (place === 'help' || place === 'output') return reading(scene, action)
  if (place === 'welcome') return welcomed(scene.model, action)
  return (
    moved(scene, action, press) ??
    searched(scene, action) ??
    onMarks(scene, action) ??
    onTasks(scene, action) ??
    onAgents(scene, action) ??
    onNode(scene, action) ??
    common(scene, action)
  )
}

/** Lines of a question below those that are shown, and how far it can be scrolled. */
function scrollOf(scene: Scene, confirm: Confirm): { below: number; furthest: number } {
  const { model, view, now } = scene
  const { body } = layoutOf(model, view, now)
  return confirmScroll(confirmNow(scene, confirm), model.size.columns, body, model.confirmTop)
}

/** A yes counts once everything that it rests on was on the screen. */
export function isWholeQuestionSeen(scene: Scene): boolean {
  const { confirm, isReader } = scene.model
  return confirm === undefined || isReader === true || scrollOf(scene, confirm).below === 0
}

function answered(scene: Scene, action: Action): Step {
  const { model, view, now } = scene
  const { confirm, confirmTop = 0, ...rest } = model
  if (action === 'suspend') return stay(model, { type: 'suspend' })
  if (confirm === undefined) return stay(rest)
  const { body } = layoutOf(model, view, now)
  const { furthest } = scrollOf(scene, confirm)
  const by = { next: 1, previous: -1, page_down: body, page_up: -body }[action as string] ?? 0
  if (by !== 0) return stay({ ...model, confirmTop: Math.min(Math.max(0, confirmTop + by), furthest) })
  if (action === 'reason' && confirm.because !== undefined)
    return stay({ ...rest, prompt: { kind: 'reason', buffer: emptyBuffer, question: confirm } })
  if (action !== 'yes') return stay(toast(rest, 'nothing was done'))
  if (isAnswered(scene, confirm)) return stay(toast(rest, 'it was answered meanwhile; nothing was done'))
  if (isWholeQuestionSeen(scene)) return stay(rest, confirm.yes)
  return stay(toast(model, 'not all of the question has been seen; j shows the rest, then y'))
}

/** One of the ways on, or none of them now. */
function welcomed(model: Model, action: Action): Step {
  switch (action) {
    case 'start_node':
    case 'demo':
    case 'suspend':
      return stay(model, { type: action })
    case 'join':
      return stay({ ...model, prompt: { kind: 'hub', buffer: emptyBuffer } })
    case 'host':
      return stay(model, { type: 'host' })
    case 'command':
      return stay({ ...model, prompt: { kind: 'command', buffer: bufferOf('') } })
    default: {
      const later = model.isNew ? 'U starts a node' : ':hub-register <url> --name <name> joins a hub'
      return stay(toast({ ...model, isWelcome: false }, `${later} whenever you like`))
    }
  }
}

/** A page of help or of what a command printed. */
function reading({ model }: Scene, action: Action): Step {
  const page = Math.max(1, model.size.rows - 4)
  const by = { next: 1, previous: -1, page_down: page, page_up: -page }[action as string] ?? 0
  if (by !== 0) return stay(scrolled(model, by))
  if (action === 'suspend') return stay(model, { type: 'suspend' })
  const { help, output, ...rest } = model
  const then = help === undefined && action !== 'quit' ? output?.then : undefined
  if (then !== undefined) return stay({ ...rest, prompt: then })
  if (action === 'quit' || output?.isRunning === true)
    return stay(help === undefined ? rest : { ...rest, ...(output && { output }) }, { type: 'stop_command' })
  return stay(help === undefined ? rest : output === undefined ? rest : { ...rest, output })
}

function scrolled(model: Model, by: number): Model {
  const { help, output } = model
  if (help !== undefined) return { ...model, help: { ...help, top: Math.max(0, help.top + by) } }
  return output === undefined ? model : { ...model, output: { ...output, top: Math.max(0, output.top + by) } }
}

function common({ model }: Scene, action: Action): Step {
  switch (action) {
    case 'help':
      return stay({ ...model, help: { place: placeOf(model), top: 0 } })
    case 'quit':
      return stay({ ...model, isQuitting: true }, { type: 'quit' })
    case 'back':
      return model.thread === undefined
        ? stay(model)
        : stay(without(model, 'thread'), { type: 'close_thread' })
    case 'filter':
      return stay({
        ...model,
        prompt: { kind: 'filter', buffer: { text: paneOf(model).filter, at: paneOf(model).filter.length } },
      })
    case 'clear_filter':
      return stay(unfiltered(model), { type: 'narrow' })
    case 'command':
      return stay({ ...model, prompt: { kind: 'command', buffer: { text: '', at: 0 } } })
    case 'refresh':
    case 'redraw':
    case 'suspend':
    case 'start_node':
      return stay(model, { type: action })
    case 'undo':
      return undone(model)
    case 'mouse':
      return mouseToggled(model)
    default:
      return stay(model)
  }
}

/** A terminal selects text with a mouse that is its own. */
function mouseToggled(model: Model): Step {
  const on = !model.hasMouse
  const says = on ? 'the mouse is on; shift selects text' : 'the mouse is off and selects text; M turns it on'
  return stay(toast({ ...model, hasMouse: on }, says), { type: 'mouse', on })
}

/** `u` brings the filter back. */
function unfiltered(model: Model): Model {
  const { filter } = paneOf(model)
  if (filter === '') return model
  const effect: Effect = { type: 'filter_again', screen: model.screen, filter }
  return { ...withPane(model, { filter: '' }), undo: { says: 'the filter again', effect } }
}

function undone(model: Model): Step {
  if (model.undo === undefined) return stay(toast(model, NOTHING_TO_UNDO))
  const { effect, says } = model.undo
  if (effect === undefined) return stay(toast(model, sayNoUndo(says), 'warn'))
  const rest = without(model, 'undo')
  if (effect.type === 'act') return stay(rest, { ...effect, isBack: true })
  return effect.type === 'filter_again'
    ? stay(withPane({ ...rest, screen: effect.screen }, { filter: effect.filter }), { type: 'narrow' })
    : stay(rest, effect)
}

/** A price that was paid is one row with its task, which is selected in its place. */
function followingPaid(pane: Pane, { interactions }: View, ids: readonly string[]): Pane {
  const paid = interactions.get(pane.selected ?? '')?.payment?.paid_as
  return paid !== undefined && ids.includes(paid) ? { ...pane, selected: paid } : pane
}

/** The model after rows or size have changed: the selection stays on its row, and the row in sight. */
export function settled(scene: Scene, before: readonly string[]): Model {
  const { model, view, cache, now } = scene
  const { ids } = cache.rows(model, view)
  const pane = followingPaid(paneOf(model), view, ids)
  const known = pane.selected !== undefined && ids[pane.top] !== undefined
  const selected =
    known && ids.includes(pane.selected as string)
      ? pane.selected
      : keepSelection(
          before.map(id => ({ id })),
          ids.map(id => ({ id })),
          pane.selected,
        )
  const height = rowsOf(model, layoutOf(model, view, now))
  const at = Math.max(0, ids.indexOf(selected ?? ''))
  const lowest = Math.max(0, Math.min(pane.top, ids.length - height))
  const top = Math.min(Math.max(lowest, at - height + 1), at)
  const held = paneOf(model)
  return selected === held.selected && top === held.top ? model : withPane(model, { selected, top })
}
