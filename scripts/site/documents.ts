/** The documents that become pages: all of docs/, the front page, and every Markdown file that one of them links to. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname, join, posix } from 'node:path'
import { marked, type Token, type Tokens } from 'marked'

/** One document: where it is in the tree, where its page is in the site (without `.html`), and its text. */
export type Document = { path: string; page: string; title: string; text: string; tokens: Token[] }

/** What a link of a document leads to. */
export type Target =
  | { kind: 'page'; document: Document; hash: string }
  | { kind: 'file'; path: string; hash: string }
  | { kind: 'outside'; href: string }

export type Documents = { root: string; all: ReadonlyMap<string, Document> }

const FRONT = 'README.md'
export const INDEX = 'docs/README.md'
const DECISIONS = 'docs/decisions/README.md'

/** Every document by its path; a folder of decisions has no file of its own, so its list is written here. */
export function readDocuments(root: string): Documents {
  const all = new Map<string, Document>()
  const within = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
  const waiting = [
    FRONT,
    ...within.filter(path => path.endsWith('.md')).map(path => `docs/${path}`),
    DECISIONS,
  ]
  for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) {
    if (all.has(path)) continue
    const text = path === DECISIONS ? listOfDecisions(root) : readFileSync(join(root, path), 'utf8')
    const document = documentOf(path, text)
    all.set(path, document)
    for (const href of linksOf(document.tokens)) {
      const linked = placeOf(root, path, href)
      if (linked?.endsWith('.md')) waiting.push(linked)
    }
  }
  return { root, all: new Map([...all].sort(([a], [b]) => (a < b ? -1 : 1))) }
}

function documentOf(path: string, text: string): Document {
  const tokens = marked.lexer(text, { gfm: true })
  const heading = tokens.find((token): token is Tokens.Heading => token.type === 'heading')
  return { path, page: pageOf(path), title: heading ? wordsOf(heading.tokens) : basename(path), text, tokens }
}

/** Files of the root stand apart: `SECURITY.md` and `docs/security.md` would be one file on some disks. */
function pageOf(path: string): string {
  if (path === FRONT) return 'index'
  if (path === INDEX) return 'pages'
  const place = path.includes('/') ? path.replace(/^docs\//, '') : `project/${path.toLowerCase()}`
  return place.replace(/README\.md$/, 'index').replace(/\.md$/, '')
}

function listOfDecisions(root: string): string {
  const names = readdirSync(join(root, 'docs/decisions')).filter(name => /^\d{4}-.*\.md$/.test(name))
  const rows = names.sort().map(name => {
    const heading = /^# (?:\d+\. )?(.+)$/m.exec(readFileSync(join(root, 'docs/decisions', name), 'utf8'))?.[1]
    return `| ${Number(name.slice(0, 4))} | [${heading ?? name}](${name}) |`
  })
  return `# Decisions\n\nThe reasons, one page each.\n\n| | Decision |\n|---|---|\n${rows.join('\n')}\n`
}

/** The file of the tree that a link names, or its README where it names a folder; undefined for the web. */
export function placeOf(root: string, from: string, href: string): string | undefined {
  if (/^[a-z]+:/i.test(href)) return undefined
  const [path = ''] = href.split('#')
  if (path === '') return from
  const place = posix.normalize(posix.join(dirname(from), decodeURI(path))).replace(/\/$/, '')
  if (place.startsWith('..')) throw new Error(`${from}: the link ${href} leaves the tree`)
  if (place === dirname(DECISIONS)) return DECISIONS
  if (!existsSync(join(root, place))) throw new Error(`${from}: the link ${href} leads nowhere`)
  return statSync(join(root, place)).isDirectory() ? `${place}/README.md` : place
}

export function targetOf({ root, all }: Documents, from: string, href: string): Target {
  const place = placeOf(root, from, href)
  if (place === undefined) return { kind: 'outside', href }
  const hash = href.includes('#') ? href.slice(href.indexOf('#')) : ''
  const document = all.get(place)
  return document ? { kind: 'page', document, hash } : { kind: 'file', path: place, hash }
}

function linksOf(tokens: readonly Token[]): string[] {
  const links: string[] = []
  void marked.walkTokens([...tokens], token => {
    if (token.type === 'link') links.push((token as Tokens.Link).href)
  })
  return links
}

/** The words of inline tokens, without marks; a picture has none. */
export function wordsOf(tokens: readonly Token[] = []): string {
  return tokens
    .map(token => {
      if (token.type === 'image' || token.type === 'html') return ''
      if (token.type === 'br') return ' '
      if ('tokens' in token && token.tokens) return wordsOf(token.tokens)
      return 'text' in token ? String(token.text) : ''
    })
    .join('')
    .replaceAll('&amp;', '&')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
}
