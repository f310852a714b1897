/** Keys of the page: those of the one table whose actions it has, where nobody is typing and no dialog asks. */
import { sayNot } from '../../view/allowed.ts'
import { bulksOf } from '../../view/bulk.ts'
import { type Action, actionOf, type Focus, type KeyRow, keysOf } from '../../view/keys.ts'
import { agentRows, screens } from '../../view/rows.ts'
import type { App } from './app.ts'
import { evidenceOf } from './evidence.ts'
import { openSetting } from './filling.ts'
import { findNext, loadAll, narrowTo, openFind } from './finding.ts'
import { archiveOne, askBulk, clearSelected, toggle } from './selecting.ts'
import { rowsOf } from './tasks.ts'
import { doable } from './thread-actions.ts'
import { scrollerOf } from './thread-end.ts'
import { ROWS_SHOWN } from './ui.ts'

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
  next: app => move(app, 'next'),
  previous: app => move(app, 'previous'),
  first: app => move(app, 'first'),
  last: app => always(void toLast(app)),
  open: app => onSelected(app, id => app.open(id)),
  back: app => app.ui.open !== undefined && always(backToRow(app)),
  filter: () => focus('filter'),
  search: app => always(openFind(app)),
  next_hit: app => findNext(app, 1),
  previous_hit: app => findNext(app, -1),
  search_all: app => always(app.ask({ kind: 'palette', words: '', at: 0 })),
  clear_filter: app => clearSelected(app) || clearFilter(app),
  select: app => onSelected(app, id => selectRow(app, id)),
  archive: app => isTasks(app) && onSelected(app, id => archiveIn(app, id)),
  archived_only: app => always(narrowTo(app, app.ui.screen, { archived: !app.ui.archivedOnly })),
  find: () => focus('filter'),
  undo: app => undoLast(app),
  pending_only: app => always(narrowTo(app, app.ui.screen, { waits: !app.ui.needsOnly })),
  refresh: app => {
    app.live.refreshAll()
    return always(app.say('asked anew'))
  },
  warnings: app => always(app.go({ screen: 'node', open: undefined })),
  help: app => always(app.ask({ kind: 'help' })),
  copy: app => onSelected(app, id => void app.copy(id, 'the id')),
  delegate: app => inAgent(app, 'order'),
  contact: app => inAgent(app, 'petname'),
  toggle_accept: app => always(openSetting(app, 'accept')),
  auto_reply_off: app => always(openSetting(app, 'auto_reply_off')),
  test_auto_reply: app => always(openSetting(app, 'auto_reply_try')),
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

const isTasks = ({ ui }: App): boolean => ui.screen === 'inbox' || ui.screen === 'sent'

/** Marks the row and goes to the next one, so that `x x x` marks three. */
function selectRow(app: App, id: string): void {
  app.set({ cursor: { ...app.ui.cursor, [app.ui.screen]: id } })
  toggle(app, id)
  move(app, 'next')
}

/** All that are selected after a question; else the one row, which `u` brings back. */
function archiveIn(app: App, id: string): void {
  const [bulk] = bulksOf(app.view, app.ui.selected).filter(({ name }) => name === archiveName(app))
  if (app.ui.open === undefined && app.ui.selected.size > 0 && bulk !== undefined) askBulk(app, bulk)
  else archiveOne(app, id)
}

const archiveName = ({ ui }: App) => (ui.archivedOnly ? 'unarchive' : 'archive')

const always = (_: unknown): boolean => true

export function onKey(app: App, event: KeyboardEvent): void {
  const key = NAMES[event.key] ?? event.key
  if ((event.ctrlKey || event.metaKey) && key === 'k' && app.ui.dialog === undefined) {
    event.preventDefault()
    app.ask({ kind: 'palette', words: '', at: 0 })
    return
  }
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

const placeOf = ({ ui }: App): Focus =>
  ui.open !== undefined && (ui.screen === 'inbox' || ui.screen === 'sent') ? 'thread' : ui.screen

/** The keys of the place on which the page is, as its help lists them. */
export function pageKeys(app: App): KeyRow[] {
  const known = new Set([...Object.values(NAMES), 'enter'])
  return keysOf(placeOf(app))
    .filter(({ action }) => action in does)
    .map(row => ({ ...row, keys: row.keys.filter(key => key.length === 1 || known.has(key)) }))
}

const isTyping = (target: EventTarget | null): boolean =>
  (target instanceof HTMLInputElement && !['checkbox', 'radio'].includes(target.type)) ||
  target instanceof HTMLTextAreaElement ||
  target instanceof HTMLSelectElement

function clearFilter(app: App): boolean {
  const { screen, filter } = app.ui
  if ((filter[screen] ?? '') === '') return false
  app.last.did('', () => narrowTo(app, screen, { words: filter[screen] ?? '' }))
  return always(narrowTo(app, screen, { words: '' }))
}

function undoLast(app: App): boolean {
  const says = app.last.takeBack()
  if (says !== undefined) app.say(says, 'quiet')
  return true
}

const isControl = (target: EventTarget | null): boolean =>
  target instanceof Element && target.closest('a, button, summary, label, input, [tabindex="0"]') !== null

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

type Way = 'next' | 'previous' | 'first' | 'last'
const WAYS: Record<Way, (at: number, last: number) => number> = {
  next: at => at + 1,
  previous: at => at - 1,
  first: () => 0,
  last: (_, last) => last,
}
/** Pixels by which a conversation moves. */
const STEP = 80

/** Moves what is in front: the conversation that is open, else the list. */
function move(app: App, way: Way): boolean {
  if (placeOf(app) === 'thread') return scrollThread(way)
  const ids = idsOf(app)
  if (ids.length === 0) return false
  const { screen } = app.ui
  const last = ids.length - 1
  const next = Math.max(0, Math.min(last, WAYS[way](ids.indexOf(app.ui.cursor[screen] ?? ''), last)))
  const id = ids[next]
  app.set({ cursor: { ...app.ui.cursor, [screen]: id }, ...windowFor(app, next, last) })
  const row = rowOf(id ?? '')
  row?.focus({ preventScroll: true })
  row?.scrollIntoView({ block: 'nearest' })
  return true
}

function scrollThread(way: Way): boolean {
  const scroller = scrollerOf(document.body)
  if (scroller === undefined) return false
  const to = { next: scroller.scrollTop + STEP, previous: scroller.scrollTop - STEP, first: 0 }
  scroller.scrollTop = way === 'last' ? scroller.scrollHeight : to[way]
  return true
}

/** Rows that are drawn so that this one is among them; a jump takes no rows along that nobody saw. */
function windowFor({ ui }: App, next: number, last: number): { from: number; shown: number } {
  const end = ui.from + ui.shown
  if (next >= ui.from && next < end) return { from: ui.from, shown: ui.shown }
  if (next === end) return { from: ui.from, shown: ui.shown + ROWS_SHOWN }
  const from = Math.max(0, Math.min(next, last - ROWS_SHOWN + 1))
  return { from: next < ui.from && next > 0 ? Math.max(0, next - ROWS_SHOWN + 1) : from, shown: ROWS_SHOWN }
}

/** The end of the list, also where it is not loaded yet. */
async function toLast(app: App): Promise<void> {
  const { screen } = app.ui
  move(app, 'last')
  if (placeOf(app) === 'thread') return
  await loadAll(app, screen)
  if (placeOf(app) === screen && app.ui.dialog === undefined) move(app, 'last')
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
