/** What somebody wrote: Markdown drawn with elements of ours, long texts in parts, and links that say where they lead. */
import { fileName } from '../../protocol/encoding/file-names.ts'
import { cleanLine, cleanText } from '../../view/clean.ts'
import { type Block, type Inline, markdownOf, saysAddress } from '../../view/markdown.ts'
import type { Thread } from '../../view/state.ts'
import type { App } from './app.ts'
import { type Drawn, h, type Kid } from './h.ts'
import { button } from './parts.ts'
import { saveText } from './saving.ts'

type Turn = Thread['turns'][number]
type Link = Extract<Inline, { kind: 'link' }>

/** Characters of a text that are shown: first, and after each *Show more*; the rest is saved. */
const PARTS = [6_000, 30_000, 200_000] as const
const partKey = (id: string, n: number) => `${id} ${n}`

/** How many characters of a turn are shown now. */
export function shownCharacters(app: App, id: string, n: number): number {
  const part = app.ui.find === undefined ? (app.ui.parts.get(partKey(id, n)) ?? 0) : PARTS.length - 1
  return PARTS[Math.min(part, PARTS.length - 1)] ?? PARTS[0]
}

/** The words of a turn, as far as they are shown, and what shows or saves the rest. */
export function wordsOf(app: App, id: string, turn: Turn): Drawn | undefined {
  const limit = shownCharacters(app, id, turn.n)
  const text = cleanText(beginOf(turn.text, limit))
  if (text === '') return undefined
  const whole = turn.chars ?? turn.text.length
  const isAll = whole <= limit && turn.next_char === undefined
  return h(
    'div',
    { class: 'words flow', dir: 'auto' },
    markdownOf(text).map((block, i) => blockOf(app, block, i)),
    !isAll && restOf(app, id, { turn, whole, limit }),
  )
}

function restOf(
  app: App,
  id: string,
  { turn, whole, limit }: { turn: Turn; whole: number; limit: number },
): Drawn {
  const shown = Math.min(limit, turn.text.length)
  return h(
    'div',
    { class: 'bar rest', key: 'rest' },
    h('span', { class: 'soft' }, `${shown.toLocaleString('en')} of ${whole.toLocaleString('en')} characters`),
    limit < (PARTS.at(-1) ?? 0) &&
      button('Show more', () => void showMore(app, id, turn), { class: 'small' }),
    button('Save the text', () => void saveTurn(app, id, turn), { class: 'small' }),
  )
}

async function showMore(app: App, id: string, turn: Turn): Promise<void> {
  const key = partKey(id, turn.n)
  app.set({ parts: new Map(app.ui.parts).set(key, (app.ui.parts.get(key) ?? 0) + 1) })
  const now = textOf(app, id, turn.n)
  if ((now?.text.length ?? 0) < shownCharacters(app, id, turn.n)) await app.live.moreText(id, turn.n)
}

const textOf = (app: App, id: string, n: number): Turn | undefined =>
  app.view.threads.get(id)?.thread?.turns.find(one => one.n === n)

/** All of a text, as a file of the browser. */
async function saveTurn(app: App, id: string, { n }: Turn): Promise<void> {
  for (let before: number | undefined; ; ) {
    const next = textOf(app, id, n)?.next_char
    if (next === undefined) break
    if (next === before) return app.say('the rest of the text could not be read', 'bad')
    before = next
    await app.live.moreText(id, n)
  }
  saveText(app, textOf(app, id, n)?.text ?? '', fileName(`message ${n} of ${id.slice(0, 8)}.md`))
}

/** A beginning that ends between characters. */
function beginOf(text: string, limit: number): string {
  const splits = limit < text.length && /[\ud800-\udbff]/.test(text.charAt(limit - 1))
  return text.slice(0, splits ? limit - 1 : limit)
}

function blockOf(app: App, block: Block, key: number): Drawn {
  switch (block.kind) {
    case 'paragraph':
      return h('p', { key }, inlines(app, block.kids))
    // below the headings of the page
    case 'heading':
      return h('p', { key, class: `heading h${block.depth}` }, inlines(app, block.kids))
    case 'code':
      return codeOf(app, block, key)
    case 'list':
      return h(
        block.ordered ? 'ol' : 'ul',
        { key },
        block.items.map(({ mark, blocks }, i) =>
          h(
            'li',
            { key: i },
            h('span', { class: 'bullet' }, mark),
            h(
              'div',
              { class: 'flow' },
              blocks.map((one, at) => blockOf(app, one, at)),
            ),
          ),
        ),
      )
    case 'quote':
      return h(
        'blockquote',
        { key, class: 'flow' },
        block.blocks.map((one, i) => blockOf(app, one, i)),
      )
    case 'table':
      return tableOf(app, block, key)
    case 'rule':
      return h('hr', { key })
  }
}

function codeOf(app: App, { text, lang }: Extract<Block, { kind: 'code' }>, key: number): Drawn {
  return h(
    'figure',
    { key, class: 'code' },
    h(
      'figcaption',
      {},
      h('span', { class: 'soft' }, cleanLine(lang, 24)),
      button('Copy', () => void app.copy(text, 'the code'), {
        class: 'small',
        'aria-label': 'Copy the code',
      }),
    ),
    h('pre', { tabindex: '0', 'aria-label': 'Code' }, text),
  )
}

function tableOf(app: App, { head, rows }: Extract<Block, { kind: 'table' }>, key: number): Drawn {
  return h(
    'div',
    { key, class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Table' },
    h(
      'table',
      {},
      h(
        'thead',
        {},
        h(
          'tr',
          {},
          head.map((cell, i) => h('th', { key: i, scope: 'col' }, inlines(app, cell))),
        ),
      ),
      h(
        'tbody',
        {},
        rows.map((row, i) =>
          h(
            'tr',
            { key: i },
            row.map((cell, at) => h('td', { key: at }, inlines(app, cell))),
          ),
        ),
      ),
    ),
  )
}

const TAGS = { strong: 'strong', em: 'em', del: 's' } as const

const inlines = (app: App, kids: readonly Inline[]): Kid[] => kids.map(kid => inlineOf(app, kid))

function inlineOf(app: App, kid: Inline): Kid {
  switch (kid.kind) {
    case 'text':
      return kid.text
    case 'code':
      return h('code', {}, kid.text)
    case 'link':
      return linkOf(app, kid)
    default:
      return h(TAGS[kid.kind], {}, inlines(app, kid.kids))
  }
}

/** Its words, then where it leads; opening it is asked with the whole address. */
function linkOf(app: App, link: Link): Kid {
  const { address, href, kids } = link
  const shown = h('bdi', { class: 'address' }, cleanLine(address, 2_000))
  if (href === undefined) return [...inlines(app, kids), ' (', shown, ')']
  const opening = () => askToOpen(app, href)
  if (saysAddress(link))
    return h('button', { type: 'button', class: 'foreign', onclick: opening }, cleanLine(address, 2_000))
  return [
    h('button', { type: 'button', class: 'foreign', onclick: opening }, ...inlines(app, kids)),
    ' (',
    shown,
    ')',
  ]
}

function askToOpen(app: App, href: string): void {
  app.ask({
    kind: 'sure',
    title: 'Open this address of somebody else?',
    says: href,
    yes: 'Open it in a new tab',
    done: 'opened in a new tab',
    run: async () => void window.open(href, '_blank', 'noopener,noreferrer'),
  })
}
