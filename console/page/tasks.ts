/** The lists of tasks, to me and from me. */
import { cleanLine } from '../../view/clean.ts'
import { screenFace } from '../../view/faces.ts'
import { listShown, narrowing, type TaskRow, taskRows } from '../../view/rows.ts'
import type { List, Side } from '../../view/state.ts'
import type { App } from './app.ts'
import { narrowTo } from './finding.ts'
import { type Drawn, h } from './h.ts'
import { button, chip, faceBlock, mark, toned, typedIn } from './parts.ts'
import { ROWS_SHOWN, titles } from './ui.ts'

export const sideOf = (screen: 'inbox' | 'sent'): Side => (screen === 'inbox' ? 'received' : 'sent')

/** Rows as the list shows them now, which keys move through. */
export function rowsOf(app: App, screen: 'inbox' | 'sent', now: number): TaskRow[] {
  const filter = app.ui.filter[screen] ?? ''
  return taskRows(app.view, sideOf(screen), { now, pendingOnly: app.ui.needsOnly, filter })
}

export function taskList(app: App, screen: 'inbox' | 'sent', now: number): Drawn {
  const rows = rowsOf(app, screen, now)
  const { from, shown, needsOnly: pendingOnly } = app.ui
  const options = { pendingOnly, filter: app.ui.filter[screen] }
  const list = listShown(app.view, sideOf(screen), options)
  const face = screenFace(app.view, screen, rows.length)
  const hasMore = rows.length > from + shown || list.nextCursor !== undefined
  return h(
    'section',
    { class: 'list', key: `list-${screen}`, 'aria-labelledby': 'list-title' },
    h(
      'div',
      { class: 'list-head' },
      h('h2', { id: 'list-title' }, titles[screen]),
      filterField(app, screen),
      h(
        'label',
        { class: 'check' },
        h('input', {
          type: 'checkbox',
          checked: app.ui.needsOnly,
          onchange: event => narrowTo(app, screen, { waits: (event.target as HTMLInputElement).checked }),
        }),
        'Waits for me',
      ),
    ),
    narrowing(options) === undefined ? face && faceBlock(face) : foundSays(list, rows.length),
    from > 0 &&
      h(
        'p',
        { class: 'pad', key: 'newer' },
        button('Show newer tasks', () => showNewer(app), { class: 'quiet' }),
      ),
    rows.length > 0 &&
      h(
        'ul',
        { class: 'rows', key: 'rows' },
        rows.slice(from, from + shown).map(row => taskRow(app, row, screen)),
      ),
    hasMore &&
      rows.length > 0 &&
      h(
        'p',
        { class: 'pad', key: 'more' },
        button('Show older tasks', () => showMore(app, screen), { class: 'quiet' }),
      ),
  )
}

export function filterField(app: App, screen: App['ui']['screen']): Drawn {
  return h('input', {
    id: 'filter',
    type: 'search',
    class: 'filter',
    placeholder: 'Filter',
    'aria-label': `Filter: ${titles[screen]}`,
    value: app.ui.filter[screen] ?? '',
    autocomplete: 'off',
    oninput: event => narrowTo(app, screen, { words: typedIn(event) }),
  })
}

/** How far the node has looked; nothing once rows of it stand there. */
function foundSays(list: List, rows: number): Drawn | undefined {
  const { refusal, loading } = list
  const says = (words: string) => h('p', { class: 'soft pad', key: 'none', role: 'status' }, words)
  if (refusal !== undefined) return says(`Not searched: ${cleanLine(refusal.says)}`)
  if (loading) return says('Searching the whole history …')
  return rows === 0 ? says('Nothing in the whole history fits.') : undefined
}

function showNewer(app: App): void {
  const from = Math.max(0, app.ui.from - ROWS_SHOWN)
  app.set({ from, shown: app.ui.shown + app.ui.from - from })
}

export function showMore(app: App, screen: 'inbox' | 'sent'): void {
  app.set({ shown: app.ui.shown + ROWS_SHOWN })
  const options = { pendingOnly: app.ui.needsOnly, filter: app.ui.filter[screen] }
  if (listShown(app.view, sideOf(screen), options).nextCursor !== undefined)
    void app.live.more(sideOf(screen))
}

function taskRow(app: App, row: TaskRow, screen: 'inbox' | 'sent'): Drawn {
  const isOpen = app.ui.open === row.id
  const isAt = app.ui.cursor[screen] === row.id
  return h(
    'li',
    { key: row.id },
    h(
      'a',
      {
        class: `row${row.unread > 0 ? ' unread' : ''}${isAt ? ' at' : ''}`,
        href: `#/${screen}/${row.id}`,
        'aria-current': isOpen ? 'true' : undefined,
        'data-row': row.id,
        onclick: event => {
          event.preventDefault()
          app.open(row.id)
        },
      },
      h(
        'span',
        { class: 'row-head' },
        mark(row.mark, row.tone),
        h('bdi', { class: 'peer' }, row.peer),
        row.isStranger && h('span', { class: 'stranger' }, 'stranger'),
        toned(row.tone, row.state),
        row.unread > 0 &&
          h('span', { class: 'count' }, row.unread, h('span', { class: 'unseen' }, ' unread')),
        h('time', { datetime: new Date(row.at).toISOString() }, row.age),
      ),
      h('span', { class: 'row-text', dir: 'auto' }, row.text),
      (row.notes.length > 0 || row.files > 0) &&
        h(
          'span',
          { class: 'row-notes' },
          row.files > 0 && chip('quiet', row.files === 1 ? '1 file' : `${row.files} files`),
          row.notes.map(note => h('span', { class: `chip ${note.tone}`, key: note.says }, shortNote(note))),
        ),
    ),
  )
}

/** A note in a row: its first words; all of it stands in the thread. */
const shortNote = ({ says }: { says: string }): string => says.split(/[:;,]/)[0] ?? says
