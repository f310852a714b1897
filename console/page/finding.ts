/** Narrowing lists, going to their ends, and finding words in the conversation that is open. */
import { evidenceRows, narrowing, type Screen, type TaskOptions } from '../../view/rows.ts'
import type { Side, Thread } from '../../view/state.ts'
import type { App } from './app.ts'
import { type Drawn, h } from './h.ts'
import { button, typedIn } from './parts.ts'
import { addressOf, ROWS_SHOWN } from './ui.ts'

const screensOf: readonly (readonly [Side, 'inbox' | 'sent'])[] = [
  ['received', 'inbox'],
  ['sent', 'sent'],
]

/** Narrows a list as one types; the address holds it, so that a bookmark opens it. */
export function narrowTo(
  app: App,
  screen: Screen,
  change: { words?: string; waits?: boolean; archived?: boolean },
): void {
  const words = change.words ?? app.ui.filter[screen] ?? ''
  const needsOnly = change.waits ?? app.ui.needsOnly
  const archivedOnly = change.archived ?? app.ui.archivedOnly
  const filter = { ...app.ui.filter, [screen]: words }
  app.set({ filter, needsOnly, archivedOnly, selected: new Set(), from: 0, shown: ROWS_SHOWN })
  history.replaceState(null, '', addressOf(app.routeTo({ screen, open: app.ui.open })))
  followNarrowing(app)
}

/** To what a list of tasks is narrowed on the page. */
export const narrowedOn = ({ ui }: App, screen: 'inbox' | 'sent'): TaskOptions => ({
  pendingOnly: ui.needsOnly,
  archived: ui.archivedOnly,
  filter: ui.filter[screen] ?? '',
})

/** Asks the node for what the lists are narrowed to now. */
export function followNarrowing(app: App): void {
  for (const [side, screen] of screensOf) app.live.narrow(side, narrowing(narrowedOn(app, screen)))
  const { filter } = app.ui
  if (app.ui.screen === 'evidence' && (filter.evidence ?? '').trim() !== '') void findRecords(app)
}

/** Older records are asked for until enough of them fit. */
async function findRecords(app: App): Promise<void> {
  const words = app.ui.filter.evidence
  await app.live.openEvidence()
  await app.live.evidenceUntil(
    () =>
      app.ui.filter.evidence !== words ||
      app.ui.screen !== 'evidence' ||
      evidenceRows(app.view, 0, words).length >= ROWS_SHOWN,
  )
}

/** All rows of a list, so that its end is here. */
export async function loadAll(app: App, screen: Screen): Promise<void> {
  if (screen === 'inbox' || screen === 'sent') await app.live.all(screen === 'inbox' ? 'received' : 'sent')
  if (screen === 'evidence') await app.live.evidenceUntil(() => app.ui.screen !== 'evidence')
}

export function openFind(app: App): void {
  const { open } = app.ui
  if (app.ui.find === undefined) app.set({ find: { words: '', at: 0, count: 0 } })
  const field = document.getElementById('find')
  field?.focus()
  if (field instanceof HTMLInputElement) field.select()
  if (open !== undefined) void readOn(app, open)
}

/** What is searched is all of it: long texts are read to their end. */
async function readOn(app: App, id: string): Promise<void> {
  for (let before = ''; app.ui.find !== undefined && app.ui.open === id; ) {
    const turn = app.view.threads.get(id)?.thread?.turns.find(one => one.next_char !== undefined)
    const place = `${turn?.n} ${turn?.next_char}`
    if (turn === undefined || place === before) return
    before = place
    await app.live.moreText(id, turn.n)
  }
}

export function closeFind(app: App): void {
  app.set({ find: undefined })
  document.getElementById('detail-title')?.closest<HTMLElement>('article')?.focus({ preventScroll: true })
}

/** Goes to the next place that was found, or the one before. */
export function findNext(app: App, by: 1 | -1): boolean {
  const { find } = app.ui
  if (find === undefined || find.count === 0) return false
  app.set({ find: { ...find, at: (find.at + by + find.count) % find.count } })
  toHit()
  return true
}

export function findBar(app: App, thread: Thread): Drawn | undefined {
  const { find } = app.ui
  if (find === undefined) return undefined
  const { words, at, count } = find
  const says = words.trim() === '' ? '' : count === 0 ? 'nothing found' : `${at + 1} of ${count}`
  return h(
    'form',
    {
      class: 'find',
      key: 'find',
      role: 'search',
      onsubmit: event => {
        event.preventDefault()
        findNext(app, 1)
      },
      onkeydown: event => {
        const { key, shiftKey } = event as KeyboardEvent
        if (key === 'Escape') {
          event.stopPropagation()
          closeFind(app)
        } else if (key === 'Enter' && shiftKey) {
          event.preventDefault()
          findNext(app, -1)
        }
      },
    },
    h('label', { for: 'find', class: 'unseen' }, 'Search in this task'),
    h('input', {
      id: 'find',
      type: 'search',
      placeholder: 'Search in this task',
      value: words,
      autocomplete: 'off',
      oninput: event => {
        app.set({ find: { words: typedIn(event), at: 0, count: 0 } })
        toHit()
        void readOn(app, thread.interaction_id)
      },
    }),
    h('output', { for: 'find', class: 'soft' }, says),
    button('‹', () => findNext(app, -1), {
      class: 'small',
      'aria-label': 'The place before',
      title: 'Before (p)',
    }),
    button('›', () => findNext(app, 1), {
      class: 'small',
      'aria-label': 'The next place',
      title: 'Next (n)',
    }),
    button('Close', () => closeFind(app), { class: 'small' }),
  )
}

let hits: Range[] = []

/** Marks what was found, over the text as it stands; true where the count has changed. */
export function markHits(place: HTMLElement, app: App): boolean {
  const { find } = app.ui
  const words = find?.words.trim().toLowerCase() ?? ''
  hits = words === '' ? [] : [...place.querySelectorAll('.turn .words')].flatMap(one => rangesIn(one, words))
  CSS.highlights.clear()
  if (hits.length > 0) CSS.highlights.set('found', new Highlight(...hits))
  const now = hits[find?.at ?? 0]
  if (now !== undefined) CSS.highlights.set('found-now', new Highlight(now))
  if (find === undefined || find.count === hits.length) return false
  app.ui.find = { ...find, count: hits.length, at: Math.min(find.at, Math.max(0, hits.length - 1)) }
  return true
}

function toHit(): void {
  const { at = 0 } = { at: [...(CSS.highlights.get('found-now') ?? [])][0] }
  const node = at === 0 ? undefined : (at as Range).startContainer.parentElement
  node?.scrollIntoView({ block: 'center' })
}

/** Places of words in the text of an element, also across its parts. */
function rangesIn(element: Element, words: string): Range[] {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT)
  const parts: { node: Node; from: number }[] = []
  let text = ''
  while (walker.nextNode() !== null) {
    parts.push({ node: walker.currentNode, from: text.length })
    text += walker.currentNode.textContent ?? ''
  }
  const lower = text.toLowerCase()
  const found: Range[] = []
  // a letter that is longer in lower case would move every place behind it
  if (lower.length !== text.length) return found
  for (let at = lower.indexOf(words); at >= 0; at = lower.indexOf(words, at + words.length)) {
    const range = new Range()
    const [begin, end] = [placeAt(parts, at), placeAt(parts, at + words.length - 1)]
    if (begin === undefined || end === undefined) continue
    range.setStart(begin.node, at - begin.from)
    range.setEnd(end.node, at + words.length - end.from)
    found.push(range)
  }
  return found
}

const placeAt = (parts: readonly { node: Node; from: number }[], at: number) =>
  parts.findLast(({ from }) => from <= at)
