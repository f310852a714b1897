/** One field for every place: screens, what can be done with the open task, people, and messages of all conversations. */
import { clock } from '../../view/ages.ts'
import { cleanLine } from '../../view/clean.ts'
import { matcher, screens } from '../../view/rows.ts'
import { peerName } from '../../view/sentences.ts'
import { settings } from '../../view/settings.ts'
import type { Match } from '../../view/state.ts'
import type { App } from './app.ts'
import { openSetting } from './filling.ts'
import { type Drawn, h } from './h.ts'
import { button, typedIn } from './parts.ts'
import { doable } from './thread-actions.ts'
import { type Dialog, titles } from './ui.ts'

type Palette = Extract<Dialog, { kind: 'palette' }>
type Entry = { key: string; kind: string; says: string; more?: string; run: () => void }

/** After so long without a letter the node is asked. */
const TYPED_MS = 200
const PEOPLE_MAX = 5

export function paletteBox(app: App, dialog: Palette): Drawn {
  const entries = entriesOf(app, dialog.words)
  const at = Math.min(dialog.at, Math.max(0, entries.length - 1))
  return h(
    'dialog',
    {
      class: 'palette',
      key: 'dialog-palette',
      'aria-label': 'Go anywhere, search everything',
      oncancel: event => {
        event.preventDefault()
        app.close()
      },
    },
    h('label', { for: 'palette', class: 'unseen' }, 'Search all conversations, people and places'),
    h('input', {
      id: 'palette',
      type: 'search',
      role: 'combobox',
      'aria-expanded': 'true',
      'aria-controls': 'palette-list',
      'aria-activedescendant': entries.length === 0 ? undefined : `palette-${at}`,
      placeholder: 'Search all conversations, people and places',
      value: dialog.words,
      maxlength: '256',
      autocomplete: 'off',
      oninput: event => typed(app, typedIn(event)),
      onkeydown: event => pressed(app, event as KeyboardEvent, { entries, at }),
    }),
    h(
      'ul',
      { id: 'palette-list', role: 'listbox', 'aria-label': 'Found' },
      entries.map((entry, i) => entryItem(app, entry, i, i === at)),
    ),
    h('p', { class: 'hint', role: 'status' }, standing(app, dialog.words, entries.length)),
    app.view.search.nextCursor !== undefined &&
      dialog.words.trim() !== '' &&
      button('Older messages', () => void app.live.moreMatches(), { class: 'quiet' }),
  )
}

function entryItem(app: App, entry: Entry, i: number, isAt: boolean): Drawn {
  return h(
    'li',
    {
      key: entry.key,
      id: `palette-${i}`,
      role: 'option',
      class: isAt ? 'entry at' : 'entry',
      'aria-selected': isAt ? 'true' : 'false',
      onclick: () => take(app, entry),
    },
    h('span', { class: 'soft kind' }, entry.kind),
    h('span', { class: 'says', dir: 'auto' }, entry.says),
    entry.more !== undefined && h('span', { class: 'soft more' }, entry.more),
  )
}

let asking: ReturnType<typeof setTimeout> | undefined

function typed(app: App, words: string): void {
  app.set({ dialog: { kind: 'palette', words, at: 0 } })
  clearTimeout(asking)
  asking = setTimeout(() => void app.live.search(words), TYPED_MS)
}

function pressed(app: App, event: KeyboardEvent, { entries, at }: { entries: Entry[]; at: number }): void {
  const { dialog } = app.ui
  const by = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
  if (event.key === 'Enter' && !event.isComposing) {
    event.preventDefault()
    const entry = entries[at]
    if (entry !== undefined) take(app, entry)
  } else if (by !== 0 && dialog?.kind === 'palette' && entries.length > 0) {
    event.preventDefault()
    app.set({ dialog: { ...dialog, at: (at + by + entries.length) % entries.length } })
    document.querySelector('#palette-list .at')?.scrollIntoView({ block: 'nearest' })
  }
}

/** What costs or ends something asks in a dialog of its own. */
function take(app: App, entry: Entry): void {
  app.close()
  entry.run()
}

function standing(app: App, words: string, count: number): string {
  const { loading, loaded, refusal } = app.view.search
  if (words.trim() === '') return '↑ ↓ choose · Enter goes there · Esc closes'
  if (refusal !== undefined) return cleanLine(refusal.says)
  if (loading || !loaded) return 'Searching all conversations …'
  return count === 0 ? 'Nothing in any conversation fits.' : '↑ ↓ choose · Enter goes there · Esc closes'
}

function entriesOf(app: App, words: string): Entry[] {
  const fits = matcher(words) ?? (() => true)
  const { contacts, search } = app.view
  const places = screens.map(
    (screen, i): Entry => ({
      key: screen,
      kind: 'Screen',
      says: titles[screen],
      more: String(i + 1),
      run: () => app.go({ screen, open: undefined }),
    }),
  )
  const people = (contacts ?? []).map(
    ({ aid, petname }): Entry => ({
      key: aid,
      kind: 'Contact',
      says: peerName({ peer: aid, peer_name: petname }),
      run: () => app.open(aid, 'agents'),
    }),
  )
  const ours = [
    ...actionsOf(app),
    ...places,
    ...people.slice(0, words.trim() === '' ? PEOPLE_MAX : undefined),
  ]
  const isTyped = words.trim() !== ''
  const isAsked = words.trim() !== '' && search.words !== '' && search.within === undefined
  return [
    ...[...ours, ...(isTyped ? settingEntries(app) : [])].filter(({ says }) => fits(says)),
    ...(isAsked ? search.matches.map(match => found(app, match)) : []),
  ]
}

/** Settings by what they are called; each asks in its own form. */
const settingEntries = (app: App): Entry[] =>
  settings
    .filter(row => row.unless?.(app.view) === undefined)
    .map(row => ({
      key: `set-${row.id}`,
      kind: 'Setting',
      says: row.heading,
      run: () => openSetting(app, row.id),
    }))

function actionsOf(app: App): Entry[] {
  const { open } = app.ui
  const thread = open === undefined ? undefined : app.view.threads.get(open)?.thread
  if (thread === undefined) return []
  return doable(app, thread).map(({ name, label, key, run }) => ({
    key: `do-${name}`,
    kind: 'This task',
    says: label,
    ...(key !== undefined && { more: key }),
    run,
  }))
}

function found(app: App, match: Match): Entry {
  const who = match.mine ? `you to ${peerName(match)}` : peerName(match)
  return {
    key: `${match.interaction_id} ${match.turn}`,
    kind: who,
    says: cleanLine(match.text, 300),
    more: clock(match.at, Date.now()),
    run: () =>
      app.go({
        screen: match.side === 'sent' ? 'sent' : 'inbox',
        open: match.interaction_id,
        turn: match.turn,
        q: '',
        waits: false,
      }),
  }
}
