/** The search of the documents: MiniSearch over the parts of every page, which a script beside the pages brings. */
import MiniSearch from 'minisearch'
import type { Part } from './part.ts'

const SHOWN = 20
const BEFORE = 60
const EXCERPT = 180

type Found = Part & { terms: string[] }
type Search = (words: string) => Found[]

const element = <T extends HTMLElement>(selector: string): T => {
  const found = document.querySelector<T>(selector)
  if (found === null) throw new Error(`${selector} is not on this page`)
  return found
}

/** The way from this page to the root of the site. */
const root = (): string => document.documentElement.dataset['root'] ?? ''

/** All words have to be there; where no part has them all, any of them. */
export function searchOver(parts: readonly Part[]): Search {
  const index = new MiniSearch<Part & { id: number }>({
    fields: ['page', 'heading', 'text'],
    searchOptions: {
      boost: { heading: 4, page: 3 },
      prefix: true,
      fuzzy: term => (term.length > 4 ? 0.25 : 0),
    },
  })
  index.addAll(parts.map((part, id) => ({ ...part, id })))
  return words => {
    const all = index.search(words, { combineWith: 'AND' })
    const results = all.length > 0 ? all : index.search(words)
    return results.slice(0, SHOWN).flatMap(({ id, terms }) => {
      const part = parts[id as number]
      return part ? [{ ...part, terms }] : []
    })
  }
}

/** What stands around the first of the terms. */
export function excerptOf({ text, terms }: Pick<Found, 'text' | 'terms'>): string {
  const low = text.toLowerCase()
  const places = terms.map(term => low.indexOf(term)).filter(at => at >= 0)
  const first = places.length === 0 ? 0 : Math.min(...places)
  const start = first <= BEFORE ? 0 : text.indexOf(' ', first - BEFORE) + 1
  const end = text.length - start <= EXCERPT ? text.length : text.lastIndexOf(' ', start + EXCERPT)
  return `${start > 0 ? '… ' : ''}${text.slice(start, end)}${end < text.length ? ' …' : ''}`
}

/** The text with the terms marked, as elements. */
function marked(text: string, terms: readonly string[]): (string | HTMLElement)[] {
  if (terms.length === 0) return [text]
  const any = terms.map(term => term.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')).join('|')
  return text.split(new RegExp(`(${any})`, 'giu')).map((piece, i) => {
    if (i % 2 === 0) return piece
    const mark = document.createElement('mark')
    mark.textContent = piece
    return mark
  })
}

function itemOf(found: Found): HTMLElement {
  const item = document.createElement('li')
  const link = document.createElement('a')
  link.href = `${root()}${found.to}`
  const title = document.createElement('strong')
  title.append(...marked(found.heading === '' ? found.page : found.heading, found.terms))
  const place = document.createElement('span')
  place.className = 'place'
  place.textContent = found.heading === '' ? '' : found.page
  const excerpt = document.createElement('span')
  excerpt.className = 'excerpt'
  excerpt.append(...marked(excerptOf(found), found.terms))
  link.append(title, ' ', place, excerpt)
  item.append(link)
  return item
}

/** A script rather than a request: a page from the disk may make none. */
function loadParts(): Promise<readonly Part[]> {
  return new Promise((resolve, reject) => {
    const script = document.createElement('script')
    script.src = `${root()}search-parts.js`
    script.addEventListener('load', () => resolve((globalThis as { svcParts?: Part[] }).svcParts ?? []))
    script.addEventListener('error', () => reject(new Error('the parts of the documents did not come')))
    document.head.append(script)
  })
}

/** Lets the page be searched: with its button, with `/` and with Ctrl-K. */
export function openSearch(): void {
  const dialog = element<HTMLDialogElement>('#site-search')
  const words = element<HTMLInputElement>('#site-words')
  const status = element('#site-found')
  const list = element('#site-results')
  const button = element<HTMLButtonElement>('#site-open-search')
  let search: Promise<Search> | undefined

  const show = async (): Promise<void> => {
    const asked = words.value.trim()
    search ??= loadParts().then(searchOver)
    const results = await search.then(
      find => (asked === '' ? [] : find(asked)),
      () => undefined,
    )
    if (words.value.trim() !== asked) return
    list.replaceChildren(...(results ?? []).map(itemOf))
    status.textContent = sentence(asked, results)
  }
  const open = (): void => {
    if (!dialog.open) dialog.showModal()
    words.select()
    void show()
  }
  button.hidden = false
  button.addEventListener('click', open)
  words.addEventListener('input', () => void show())
  words.addEventListener('keydown', event => {
    if (event.isComposing) return
    if (event.key === 'Enter') list.querySelector('a')?.click()
    // a browser would empty the field first
    if (event.key === 'Escape') dialog.close()
  })
  dialog.addEventListener('keydown', event => move(event, words, list))
  // A click on what lies around the dialog is one on the dialog itself.
  dialog.addEventListener('click', event => {
    if (event.target === dialog || (event.target as Element).closest('a, .close')) dialog.close()
  })
  addEventListener('keydown', event => {
    const isTyping = (event.target as Element).closest?.('input, textarea') !== null
    const isAsked = event.key === 'k' ? event.ctrlKey || event.metaKey : event.key === '/' && !isTyping
    if (!isAsked) return
    event.preventDefault()
    open()
  })
}

function sentence(asked: string, results: readonly Found[] | undefined): string {
  if (results === undefined) return 'The search could not be loaded; reload the page.'
  if (asked === '') return 'Search every page: a command, an error, a word.'
  if (results.length === 0) return 'Nothing was found; try fewer or other words.'
  if (results.length === SHOWN) return `The best ${SHOWN} places`
  return results.length === 1 ? '1 place' : `${results.length} places`
}

/** The arrows go from the words through the results. */
function move(event: KeyboardEvent, words: HTMLElement, list: HTMLElement): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
  if (step === undefined) return
  const stops = [words, ...list.querySelectorAll('a')]
  const at = stops.indexOf(document.activeElement as HTMLElement)
  const next = stops[at + step]
  if (next === undefined) return
  event.preventDefault()
  next.focus()
}
