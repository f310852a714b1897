/** The dialog of the search: what opens and closes it, what it says and lists, and where the keys go. */
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { Part } from './part.ts'
import { openSearch } from './search.ts'

/** As much of an element as the search asks for. */
class Element extends EventTarget {
  kids: (Element | string)[] = []
  dataset: Record<string, string> = {}
  value = ''
  hidden = true
  open = false
  clicked = 0
  readonly tag: string
  constructor(tag: string) {
    super()
    this.tag = tag
  }
  append(...kids: (Element | string)[]) {
    this.kids.push(...kids)
  }
  replaceChildren(...kids: (Element | string)[]) {
    this.kids = kids
  }
  get textContent(): string {
    return this.kids.map(kid => (typeof kid === 'string' ? kid : kid.textContent)).join('')
  }
  set textContent(text: string) {
    this.kids = [text]
  }
  querySelectorAll(tag: string): Element[] {
    const inner = this.kids.filter(kid => typeof kid !== 'string')
    return inner.flatMap(kid => [...(kid.tag === tag ? [kid] : []), ...kid.querySelectorAll(tag)])
  }
  querySelector(tag: string) {
    return this.querySelectorAll(tag)[0] ?? null
  }
  closest(selector: string) {
    return selector.split(', ').includes(this.tag) ? this : null
  }
  focus() {
    page.activeElement = this
  }
  click() {
    this.clicked += 1
  }
  select = vi.fn()
  showModal() {
    if (this.open) throw new Error('it is open')
    this.open = true
  }
  close() {
    this.open = false
  }
}

const page = { activeElement: undefined as Element | undefined }
const part = (name: string, heading: string, text: string): Part => ({
  ...{ page: name, heading, text },
  to: `${name}.html`,
})
let parts: Part[]
let isAway: boolean
let places: Record<string, Element>
let window: EventTarget
const at = (id: string) => places[`#site-${id}`] as Element

beforeEach(() => {
  parts = [part('Backup', 'Passphrase', 'keep a word (or two)'), part('Install', '', 'one word')]
  isAway = false
  window = new EventTarget()
  places = Object.fromEntries(
    ['search', 'words', 'found', 'results', 'open-search'].map(id => [`#site-${id}`, new Element('div')]),
  )
  const root = new Element('html')
  root.dataset['root'] = '../'
  const head = {
    append(script: Element) {
      queueMicrotask(() => script.dispatchEvent(new Event(isAway ? 'error' : 'load')))
    },
  }
  vi.stubGlobal('document', {
    documentElement: root,
    head,
    querySelector: (selector: string) => places[selector] ?? null,
    createElement: (tag: string) => new Element(tag),
    get activeElement() {
      return page.activeElement
    },
  })
  vi.stubGlobal('addEventListener', window.addEventListener.bind(window))
  vi.stubGlobal('svcParts', parts)
  onTestFinished(() => void vi.unstubAllGlobals())
})

const settled = () => new Promise(resolve => setTimeout(resolve, 1))

/** Whether what a browser does by itself was kept from it. */
function key(on: EventTarget, name: string, more: object = {}, target?: Element): boolean {
  const event = Object.assign(new Event('keydown', { cancelable: true }), { key: name, ...more })
  if (target !== undefined) Object.defineProperty(event, 'target', { value: target })
  return !on.dispatchEvent(event)
}
async function write(words: string) {
  at('words').value = words
  at('words').dispatchEvent(new Event('input'))
  await settled()
}
const links = () => at('results').querySelectorAll('a')
const marks = () =>
  at('results')
    .querySelectorAll('mark')
    .map(mark => mark.textContent)

describe('the dialog of the search', () => {
  test('is opened with its button, which a page without scripts hides, and begins with its words', async () => {
    openSearch()
    expect([at('open-search').hidden, at('search').open]).toEqual([false, false])
    at('open-search').dispatchEvent(new Event('click'))
    at('open-search').dispatchEvent(new Event('click'))
    expect([at('search').open, at('words').select.mock.calls.length]).toEqual([true, 2])
    await settled()
    expect(at('found').textContent).toBe('Search every page: a command, an error, a word.')
    expect(links()).toEqual([])
  })

  test.each([
    ['/', {}, 'div', true],
    ['/', {}, 'input', false],
    ['k', { ctrlKey: true }, 'input', true],
    ['k', { metaKey: true }, 'div', true],
    ['k', {}, 'div', false],
    ['x', { ctrlKey: true }, 'div', false],
  ] as const)('%s with %j in a %s: opened is %s', (name, more, tag, opens) => {
    openSearch()
    expect(key(window, name, more, new Element(tag))).toBe(opens)
    expect(at('search').open).toBe(opens)
  })

  test('closes with Escape, a click beside it, on a result or on its button, and not with one inside', () => {
    openSearch()
    const closes = (act: () => void) => {
      at('search').open = true
      act()
      return !at('search').open
    }
    const click = (target: Element) => () => {
      const event = new Event('click')
      Object.defineProperty(event, 'target', { value: target })
      at('search').dispatchEvent(event)
    }
    expect(closes(() => key(at('words'), 'Escape'))).toBe(true)
    expect(closes(() => key(at('words'), 'a'))).toBe(false)
    for (const target of [at('search'), new Element('a'), new Element('.close')])
      expect(closes(click(target))).toBe(true)
    expect(closes(click(new Element('p')))).toBe(false)
  })

  test('leaves the keys of somebody who composes a letter alone', async () => {
    openSearch()
    await write('word')
    at('search').open = true
    for (const name of ['Enter', 'Escape']) key(at('words'), name, { isComposing: true })
    expect([at('search').open, links()[0]?.clicked]).toEqual([true, 0])
    key(at('words'), 'Enter')
    expect(links().map(({ clicked }) => clicked)).toEqual([1, 0])
  })

  test('is one of its page, or nothing is opened', () => {
    delete places['#site-found']
    expect(openSearch).toThrow('#site-found is not on this page')
  })
})

describe('what is found', () => {
  test('is listed with its heading and page, or its page alone, and leads there from the root', async () => {
    openSearch()
    await write(' word ')
    expect(at('found').textContent).toBe('2 places')
    expect(
      links()
        .map(link => [(link as unknown as { href: string }).href, link.textContent])
        .sort(),
    ).toEqual([
      ['../Backup.html', 'Passphrase Backupkeep a word (or two)'],
      ['../Install.html', 'Install one word'],
    ])
    expect(marks()).toEqual(['word', 'word'])
    await write('passphrase')
    expect([at('found').textContent, marks()]).toEqual(['1 place', ['Passphrase']])
  })

  test('is said where it is nothing, and where it is the best twenty', async () => {
    openSearch()
    await write('absent')
    expect([at('found').textContent, links()]).toEqual(['Nothing was found; try fewer or other words.', []])
    parts.push(...Array.from({ length: 30 }, (_, n) => part(`p${n}`, 'many', '')))
    openSearch()
    await write('many')
    expect([at('found').textContent, links().length]).toEqual(['The best 20 places', 20])
  })

  test('is not told where the parts of the documents do not come', async () => {
    isAway = true
    openSearch()
    await write('word')
    expect(at('found').textContent).toBe('The search could not be loaded; reload the page.')
  })

  test('for words that were written over meanwhile is not shown', async () => {
    openSearch()
    at('words').value = 'word'
    at('words').dispatchEvent(new Event('input'))
    at('words').value = 'passphrase'
    await settled()
    expect([at('found').textContent, links()]).toEqual(['', []])
  })

  test('is gone through with the arrows, from the words down and back', async () => {
    openSearch()
    await write('word')
    const [first, second] = links()
    at('words').focus()
    const goes = (name: string) => [key(at('search'), name), page.activeElement]
    expect(goes('ArrowUp')).toEqual([false, at('words')])
    expect(goes('ArrowDown')).toEqual([true, first])
    expect(goes('ArrowDown')).toEqual([true, second])
    expect(goes('ArrowDown')).toEqual([false, second])
    expect(goes('a')).toEqual([false, second])
    expect(goes('ArrowUp')).toEqual([true, first])
  })
})
