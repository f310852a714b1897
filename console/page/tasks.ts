/** The lists of tasks, to me and from me. */
import { screenFace } from '../../view/faces.ts'
import { type TaskRow, taskRows } from '../../view/rows.ts'
import type { Side } from '../../view/state.ts'
import type { App } from './app.ts'
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
  const list = app.view.lists[sideOf(screen)]
  const isNarrowed = app.ui.needsOnly || (app.ui.filter[screen] ?? '') !== ''
  const face = screenFace(app.view, screen, rows.length)
  const nothing =
    isNarrowed && list.loaded && rows.length === 0
      ? h('p', { class: 'soft pad', key: 'none' }, 'Nothing here fits the filter.')
      : face && faceBlock(face)
  const hasMore = rows.length > app.ui.shown || list.nextCursor !== undefined
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
          onchange: event => app.set({ needsOnly: (event.target as HTMLInputElement).checked }),
        }),
        'Waits for me',
      ),
    ),
    nothing,
    rows.length > 0 &&
      h(
        'ul',
        { class: 'rows', key: 'rows' },
        rows.slice(0, app.ui.shown).map(row => taskRow(app, row, screen)),
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
    oninput: event => app.set({ filter: { ...app.ui.filter, [screen]: typedIn(event) }, shown: ROWS_SHOWN }),
  })
}

export function showMore(app: App, screen: 'inbox' | 'sent'): void {
  app.set({ shown: app.ui.shown + ROWS_SHOWN })
  if (app.view.lists[sideOf(screen)].nextCursor !== undefined) void app.live.more(sideOf(screen))
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
