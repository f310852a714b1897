/** Keys of the page: those of the one table whose actions it has, where nobody is typing and no dialog asks. */
import { sayNot } from '../../view/allowed.ts'
import { type Action, actionOf, type KeyRow, keysOf, type Place } from '../../view/keys.ts'
import { agentRows, screens } from '../../view/rows.ts'
import type { App } from './app.ts'
import { evidenceOf } from './evidence.ts'
import { toggleAccept, tryAutoReply, turnOff } from './node.ts'
import { rowsOf } from './tasks.ts'
import { doable } from './thread-actions.ts'

const NAMES: Record<string, string> = {
  Enter: 'enter',
  Escape: 'esc',
  ArrowDown: 'down',
  ArrowUp: 'up',
  ArrowLeft: 'left',
  ArrowRight: 'right',
  Home: 'home',
  End: 'end',
}

/** What is done for an action; false where there was nothing to do, and the key is the browser's. */
const does: Partial<Record<Action, (app: App, key: string) => boolean>> = {
  screen: (app, key) => always(app.go({ screen: screens[Number(key) - 1] ?? 'inbox', open: undefined })),
  next: app => move(app, at => at + 1),
  previous: app => move(app, at => at - 1),
  first: app => move(app, () => 0),
  last: app => move(app, (_, last) => last),
  open: app => onSelected(app, id => app.open(id)),
  back: app => app.ui.open !== undefined && always(backToRow(app)),
  filter: () => focus('filter'),
  clear_filter: app => clearFilter(app),
  find: () => focus('filter'),
  undo: app => undoLast(app),
  pending_only: app => always(app.set({ needsOnly: !app.ui.needsOnly })),
  refresh: app => {
    app.live.refreshAll()
    return always(app.say('asked anew'))
  },
  warnings: app => always(app.go({ screen: 'node', open: undefined })),
  help: app => always(app.ask({ kind: 'help' })),
  copy: app => onSelected(app, id => void app.copy(id, 'the id')),
  delegate: app => inAgent(app, 'order'),
  contact: app => inAgent(app, 'petname'),
  toggle_accept: app => always(toggleAccept(app)),
  auto_reply_off: app => always(turnOff(app)),
  test_auto_reply: app => always(tryAutoReply(app)),
  reply: app => onTask(app, 'reply', 'message'),
  attach: app => onTask(app, 'attach', 'attach'),
  approve: app => onTask(app, 'approve', 'approve'),
  decline: app => onTask(app, 'decline', 'decline'),
  end: app => onTask(app, 'end', 'end', 'accept_end'),
  accept_end: app => onTask(app, 'accept_end', 'accept_end'),
  cancel: app => onTask(app, 'cancel', 'cancel'),
  anew: app => onTask(app, 'anew', 'anew'),
  hold: app => onTask(app, 'hold', 'hold'),
  save: app => onTask(app, 'save', 'save'),
  verify: app => onTask(app, 'verify', 'verify'),
  rate: app => onTask(app, 'rate', 'review'),
}

const always = (_: unknown): boolean => true

export function onKey(app: App, event: KeyboardEvent): void {
  const key = NAMES[event.key] ?? event.key
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || app.ui.dialog !== undefined)
    return
  if (isTyping(event.target)) {
    if (key === 'esc') (event.target as HTMLElement).blur()
    return
  }
  // a control that has the focus does with Enter what it always does
  if ((key === 'enter' && isControl(event.target)) || (key.length === 1 && !app.keysOn)) return
  const action = actionOf(placeOf(app), key)
  if (action !== undefined && does[action]?.(app, key) === true) event.preventDefault()
}

const placeOf = ({ ui }: App): Place =>
  ui.open !== undefined && (ui.screen === 'inbox' || ui.screen === 'sent') ? 'thread' : ui.screen

/** The keys of the place on which the page is, as its help lists them. */
export function pageKeys(app: App): KeyRow[] {
  const known = new Set([...Object.values(NAMES), 'enter'])
  return keysOf(placeOf(app))
    .filter(({ action }) => action in does)
    .map(row => ({ ...row, keys: row.keys.filter(key => key.length === 1 || known.has(key)) }))
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLInputElement ||
  target instanceof HTMLTextAreaElement ||
  target instanceof HTMLSelectElement

function clearFilter(app: App): boolean {
  const { screen, filter } = app.ui
  if ((filter[screen] ?? '') === '') return false
  app.undo = () => app.set({ filter: { ...app.ui.filter, [screen]: filter[screen] ?? '' } })
  return always(app.set({ filter: { ...filter, [screen]: '' } }))
}

function undoLast(app: App): boolean {
  const { undo } = app
  app.undo = undefined
  if (undo === undefined) app.say('there is nothing to undo', 'quiet')
  else undo()
  return true
}

const isControl = (target: EventTarget | null): boolean =>
  target instanceof Element && target.closest('a, button, summary, label, [tabindex="0"]') !== null

function focus(id: string): boolean {
  const element = document.getElementById(id)
  element?.focus()
  return element !== null
}

/** The selected row; the first one where none was selected yet. */
const selected = (app: App): string | undefined =>
  app.ui.open ?? app.ui.cursor[app.ui.screen] ?? idsOf(app)[0]

function onSelected(app: App, run: (id: string) => void): boolean {
  const id = selected(app)
  if (id === undefined) return false
  run(id)
  return true
}

/** The list, with the focus on the row from which it was left. */
function backToRow(app: App): void {
  app.open(undefined)
  const id = app.ui.cursor[app.ui.screen]
  if (id !== undefined) rowOf(id)?.focus({ preventScroll: true })
}

const rowOf = (id: string): HTMLElement | null =>
  document.querySelector<HTMLElement>(`[data-row="${CSS.escape(id)}"]`)

/** Opens the selected agent and goes to a field of its form. */
function inAgent(app: App, field: string): boolean {
  return app.ui.screen === 'agents' && onSelected(app, id => app.open(id)) && always(focus(field))
}

/** Does something with the open task. A row that is only selected is opened first, so that one sees what it is. */
function onTask(app: App, action: Action, ...names: string[]): boolean {
  const { screen, open } = app.ui
  if (screen !== 'inbox' && screen !== 'sent') return false
  const id = selected(app)
  if (id === undefined) return false
  if (open === undefined) app.open(id)
  const isHere = app.view.threads.get(id)?.thread !== undefined
  if (isHere) doIn(app, id, action, names)
  else void app.opening.then(() => app.ui.open === id && doIn(app, id, action, names))
  return true
}

function doIn(app: App, id: string, action: Action, names: readonly string[]): void {
  const thread = app.view.threads.get(id)?.thread
  const item = app.view.interactions.get(id)
  const can = thread === undefined ? [] : doable(app, thread)
  const found = names.flatMap(name => can.filter(one => one.name === name))[0]
  if (found !== undefined) found.run()
  else if (item !== undefined) app.say(sayNot(item, action), 'warn')
}

function move(app: App, to: (at: number, last: number) => number): boolean {
  const ids = idsOf(app)
  if (ids.length === 0) return false
  const { screen } = app.ui
  const last = ids.length - 1
  const next = Math.max(0, Math.min(last, to(ids.indexOf(app.ui.cursor[screen] ?? ''), last)))
  const id = ids[next]
  app.set({ cursor: { ...app.ui.cursor, [screen]: id }, shown: Math.max(app.ui.shown, next + 1) })
  const row = rowOf(id ?? '')
  row?.focus({ preventScroll: true })
  row?.scrollIntoView({ block: 'nearest' })
  return true
}

function idsOf(app: App): string[] {
  const { screen } = app.ui
  const now = Date.now()
  switch (screen) {
    case 'inbox':
    case 'sent':
      return rowsOf(app, screen, now).map(({ id }) => id)
    case 'agents':
      return agentRows(app.view, now).map(({ id }) => id)
    case 'evidence':
      return evidenceOf(app, now).map(({ seq }) => String(seq))
    case 'node':
      return []
  }
}
