/** Keys of the page: those of the one table, where nobody is typing and no dialog asks. */
import { actOf, type KeyAct } from '../../view/keys.ts'
import { agentRows, screens } from '../../view/rows.ts'
import type { App } from './app.ts'
import { evidenceOf } from './evidence.ts'
import { toggleAccept, tryAutoReply } from './node.ts'
import { rowsOf } from './tasks.ts'
import { doable } from './thread-actions.ts'

const NAMES: Record<string, string> = {
  Enter: 'enter',
  Escape: 'esc',
  ArrowDown: 'down',
  ArrowUp: 'up',
}

export function onKey(app: App, event: KeyboardEvent): void {
  const key = NAMES[event.key] ?? event.key
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || app.ui.dialog !== undefined)
    return
  if (isTyping(event.target)) {
    if (key === 'esc') (event.target as HTMLElement).blur()
    return
  }
  const isLetter = key.length === 1
  // what has the focus does what it always does
  if (key === 'enter' || (isLetter && !app.ui.keysOn)) return
  const act = actOf(key, app.ui.screen)
  if (act === undefined || act === 'next_screen') return
  if (run(app, act, key)) event.preventDefault()
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLInputElement ||
  target instanceof HTMLTextAreaElement ||
  target instanceof HTMLSelectElement

/** Whether there was something to do. */
function run(app: App, act: KeyAct, key: string): boolean {
  switch (act) {
    case 'screen':
      app.go({ screen: screens[Number(key) - 1] ?? 'inbox', open: undefined })
      return true
    case 'up':
    case 'down':
    case 'first':
    case 'last':
      return move(app, act)
    case 'back':
      if (app.ui.open !== undefined) app.open(undefined)
      return true
    case 'filter':
      document.getElementById('filter')?.focus()
      return true
    case 'needs_only':
      app.set({ needsOnly: !app.ui.needsOnly })
      return true
    case 'refresh':
      app.live.refreshAll()
      app.say('asked anew')
      return true
    case 'help':
      app.ask({ kind: 'help' })
      return true
    case 'toggle_accept':
      toggleAccept(app)
      return true
    case 'test_auto_reply':
      tryAutoReply(app)
      return true
    default:
      return onSubject(app, act)
  }
}

/** What is done with the task, agent or record that is open or selected. */
function onSubject(app: App, act: KeyAct): boolean {
  const { screen } = app.ui
  const id = app.ui.open ?? app.ui.cursor[screen]
  if (id === undefined) return false
  if (act === 'copy') {
    void app.copy(id, 'the id')
    return true
  }
  if (act === 'delegate') {
    app.open(id)
    document.getElementById('order')?.focus()
    return true
  }
  return onTask(app, act, id)
}

function onTask(app: App, act: KeyAct, id: string): boolean {
  const thread = app.view.threads.get(id)?.thread
  if (app.ui.open !== id || thread === undefined) {
    app.open(id)
    return true
  }
  if (act === 'approve') {
    if (thread.actions.includes('approve')) app.ask({ kind: 'approve', id })
    return true
  }
  if (act === 'save') {
    for (const turn of thread.turns)
      for (const file of turn.attachments) if (file.path !== null) void app.download(id, file)
    return true
  }
  const names: Partial<Record<KeyAct, string>> = { reply: 'message' }
  doable(app, thread)
    .find(({ name }) => name === (names[act] ?? act))
    ?.run()
  return true
}

function move(app: App, act: 'up' | 'down' | 'first' | 'last'): boolean {
  const ids = idsOf(app)
  if (ids.length === 0) return false
  const { screen } = app.ui
  const at = ids.indexOf(app.ui.cursor[screen] ?? '')
  const steps = {
    up: Math.max(at - 1, 0),
    down: Math.min(at + 1, ids.length - 1),
    first: 0,
    last: ids.length - 1,
  }
  const id = ids[steps[act]]
  app.set({
    cursor: { ...app.ui.cursor, [screen]: id },
    shown: Math.max(app.ui.shown, steps[act] + 1),
  })
  const row = document.querySelector<HTMLElement>(`[data-row="${CSS.escape(id ?? '')}"]`)
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
