/** The lists of tasks, to me and from me. */
import { cleanLine } from '../../view/clean.ts'
import { screenFace } from '../../view/faces.ts'
import { listShown, narrowing, type TaskRow, taskRows } from '../../view/rows.ts'
import type { List, Side } from '../../view/state.ts'
import type { App } from './app.ts'
import { narrowedOn, narrowTo } from './finding.ts'
import { type Drawn, h } from './h.ts'
import { faceBlock } from './helping.ts'
import { button, chip, mark, toned, typedIn } from './parts.ts'
import { rowCheck, selectionBar, selectTo } from './selecting.ts'
import { ROWS_SHOWN, titles } from './ui.ts'

export const sideOf = (screen: 'inbox' | 'sent'): Side => (screen === 'inbox' ? 'received' : 'sent')

/** Rows as the list shows them now, which keys move through. */
export function rowsOf(app: App, screen: 'inbox' | 'sent', now: number): TaskRow[] {
  return taskRows(app.view, sideOf(screen), { now, ...narrowedOn(app, screen) })
}

export function taskList(app: App, screen: 'inbox' | 'sent', now: number): Drawn {
  const rows = rowsOf(app, screen, now)
  const { from, shown } = app.ui
  const options = narrowedOn(app, screen)
  const shownIds = rows.slice(from, from + shown).map(({ id }) => id)
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
      selectionBar(app, shownIds) ??
        h(
          'div',
          { class: 'narrowing', key: 'narrowing' },
          narrowBox('Waits for me', app.ui.needsOnly, waits => narrowTo(app, screen, { waits })),
          narrowBox('Archived', app.ui.archivedOnly, archived => narrowTo(app, screen, { archived })),
        ),
    ),
    narrowing(options) === undefined ? face && faceBlock(app, face) : foundSays(list, rows.length),
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
        rows.slice(from, from + shown).map(row => taskRow(app, row, { screen, shownIds })),
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

const narrowBox = (label: string, checked: boolean, set: (on: boolean) => void): Drawn =>
  h(
    'label',
    { class: 'check' },
    h('input', {
      type: 'checkbox',
      checked,
      onchange: event => set((event.target as HTMLInputElement).checked),
    }),
    label,
  )

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
  const options = narrowedOn(app, screen)
  if (listShown(app.view, sideOf(screen), options).nextCursor !== undefined)
    void app.live.more(sideOf(screen))
}

type Among = { screen: 'inbox' | 'sent'; shownIds: readonly string[] }

function taskRow(app: App, row: TaskRow, { screen, shownIds }: Among): Drawn {
  const isOpen = app.ui.open === row.id
  const isAt = app.ui.cursor[screen] === row.id
  return h(
    'li',
    { key: row.id, class: app.ui.selected.has(row.id) ? 'picked' : undefined },
    rowCheck(app, row.id, row.peer, shownIds),
    h(
      'a',
      {
        class: `row${row.unread > 0 ? ' unread' : ''}${isAt ? ' at' : ''}`,
        href: `#/${screen}/${row.id}`,
        'aria-current': isOpen ? 'true' : undefined,
        'data-row': row.id,
        onclick: event => {
          event.preventDefault()
          if ((event as MouseEvent).shiftKey) selectTo(app, row.id, shownIds)
          else app.open(row.id)
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
