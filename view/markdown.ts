/**
 * Markdown of others as data, which both screens draw with elements of their own: no HTML, no picture, no address that
 * is not shown. The blocks are found by a library; whatever it knows that is not here stays the letters that it is.
 */
import { lexer, type Token, type Tokens } from 'marked'

export type Inline =
  | { kind: 'text' | 'code'; text: string }
  | { kind: 'strong' | 'em' | 'del'; kids: readonly Inline[] }
  /** `href` as it is opened; undefined where it is nothing that a browser shall open, and stands in `address` alone. */
  | { kind: 'link'; kids: readonly Inline[]; address: string; href: string | undefined }
export type Item = { mark: string; blocks: readonly Block[] }
export type Block =
  | { kind: 'paragraph'; kids: readonly Inline[] }
  | { kind: 'heading'; depth: number; kids: readonly Inline[] }
  | { kind: 'code'; lang: string; text: string }
  | { kind: 'list'; ordered: boolean; items: readonly Item[] }
  | { kind: 'quote'; blocks: readonly Block[] }
  | { kind: 'table'; head: readonly (readonly Inline[])[]; rows: readonly (readonly (readonly Inline[])[])[] }
  | { kind: 'rule' }

/** Hostile letters may cost much for their length: so many are read at once, and more are read in parts. */
const PART_CHARACTERS_MAX = 8_000
/** Lists and quotes in each other go no deeper than a reader could follow. */
const TOO_DEEP = /^(?:[ \t]*(?:>|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t]))){10}/m
const INDENTED_TOO_FAR = /^[ \t]{40,}(?:[-*+]|\d{1,9}[.)])[ \t]/m
/** Of each of these a reader looks for the other one of its pair, in all that follows. */
const PAIRED = ['[', '_', '*', '~', '`', '<'] as const
const PAIRED_MAX = 500
/** Cells of all tables of a text: a short row has as many as the head of its table. */
const CELLS_MAX = 5_000
/** Texts whose blocks are kept: a screen asks again for what it shows, each time it is drawn. */
const KEPT_MAX = 64

const kept = new Map<string, readonly Block[]>()

/** Text that was cleaned, as blocks. Never fails: what cannot be read as Markdown is one paragraph. */
export function markdownOf(text: string): readonly Block[] {
  const blocks = kept.get(text) ?? read(text)
  kept.delete(text)
  kept.set(text, blocks)
  if (kept.size > KEPT_MAX) kept.delete(kept.keys().next().value as string)
  return blocks
}

function read(text: string): Block[] {
  let cells = 0
  return partsOf(text).flatMap(part => {
    cells += cellsOf(part)
    return cells > CELLS_MAX ? [plain(part)] : blocksOfPart(part)
  })
}

/** No table of a text has more cells than this. */
function cellsOf(text: string): number {
  if (!text.includes('|')) return 0
  const lines = text.split('\n')
  return lines.length * lines.reduce((most, line) => Math.max(most, line.split('|').length), 0)
}

function blocksOfPart(text: string): Block[] {
  const isTooMuch =
    text.length > PART_CHARACTERS_MAX ||
    TOO_DEEP.test(text) ||
    INDENTED_TOO_FAR.test(text) ||
    PAIRED.some(mark => text.split(mark).length > PAIRED_MAX)
  if (isTooMuch) return [plain(text)]
  try {
    return blocksOf(lexer(text, { gfm: true }))
  } catch {
    return [plain(text)]
  }
}

const plain = (text: string): Block => ({ kind: 'paragraph', kids: [{ kind: 'text', text }] })

/** Parts that end at an empty line outside of a fence, where a text is long. */
function partsOf(text: string): string[] {
  if (text.length <= PART_CHARACTERS_MAX) return [text]
  const parts: string[] = []
  let [part, fence] = ['', '']
  for (const line of text.split(/(?<=\n)/)) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1] ?? ''
    if (fence === '') fence = mark
    else if (mark.startsWith(fence)) fence = ''
    part += line
    if (line.trim() === '' && fence === '' && part.length > PART_CHARACTERS_MAX / 2) {
      parts.push(part)
      part = ''
    }
  }
  return part === '' ? parts : [...parts, part]
}

const blocksOf = (tokens: readonly Token[]): Block[] => tokens.flatMap(token => blockOf(token as Known))

type Known = Tokens.Generic & { type: string }

function blockOf(token: Known): Block | Block[] {
  switch (token.type) {
    case 'space':
      return []
    case 'heading':
      return { kind: 'heading', depth: (token as Tokens.Heading).depth, kids: inlinesOf(token) }
    case 'code':
      return { kind: 'code', lang: (token as Tokens.Code).lang ?? '', text: (token as Tokens.Code).text }
    case 'blockquote':
      return { kind: 'quote', blocks: blocksOf(token.tokens ?? []) }
    case 'list':
      return listOf(token as Tokens.List)
    case 'table':
      return tableOf(token as Tokens.Table)
    case 'hr':
      return { kind: 'rule' }
    case 'paragraph':
    case 'text':
      return { kind: 'paragraph', kids: inlinesOf(token) }
    default:
      return plain(token.raw.trimEnd())
  }
}

function listOf({ ordered, start, items }: Tokens.List): Block {
  const first = typeof start === 'number' ? start : 1
  return {
    kind: 'list',
    ordered,
    items: items.map((item, i) => ({
      mark: item.task ? (item.checked === true ? '☑' : '☐') : ordered ? `${first + i}.` : '•',
      blocks: blocksOf(item.tokens.filter(({ type }) => type !== 'checkbox')),
    })),
  }
}

const tableOf = ({ header, rows }: Tokens.Table): Block => ({
  kind: 'table',
  head: header.map(({ tokens }) => tokens.flatMap(inlineOf)),
  rows: rows.map(row => row.map(({ tokens }) => tokens.flatMap(inlineOf))),
})

const inlinesOf = (token: { tokens?: Token[]; raw: string }): Inline[] =>
  token.tokens?.flatMap(inlineOf) ?? [{ kind: 'text', text: token.raw }]

function inlineOf(token: Token): Inline | Inline[] {
  switch (token.type) {
    case 'text':
      return (token as Tokens.Text).tokens === undefined
        ? { kind: 'text', text: token.raw }
        : inlinesOf(token as Tokens.Text)
    case 'escape':
      return { kind: 'text', text: (token as Tokens.Escape).text }
    case 'strong':
    case 'em':
    case 'del':
      return { kind: token.type, kids: inlinesOf(token as Tokens.Strong) }
    case 'codespan':
      return { kind: 'code', text: (token as Tokens.Codespan).text }
    case 'br':
      return { kind: 'text', text: '\n' }
    case 'link':
      return linkOf(token as Tokens.Link)
    // a picture is an address like any other, and nothing is loaded
    case 'image': {
      const { href, text } = token as Tokens.Image
      const kids: Inline[] = [{ kind: 'text', text: `picture: ${text}` }]
      return { kind: 'link', kids, ...addressOf(href) }
    }
    case 'checkbox':
      return []
    default:
      return { kind: 'text', text: token.raw }
  }
}

const linkOf = (token: Tokens.Link): Inline => ({
  kind: 'link',
  kids: inlinesOf(token).flatMap(withoutLinks),
  ...addressOf(token.href),
})

/** A picture in a link is its words: one link leads to one address. */
function withoutLinks(inline: Inline): readonly Inline[] {
  if (inline.kind === 'link') return inline.kids
  return 'kids' in inline ? [{ ...inline, kids: inline.kids.flatMap(withoutLinks) }] : [inline]
}

/** Names of hosts as they are asked for, so that no letter passes for another one. */
function addressOf(written: string): { address: string; href: string | undefined } {
  const url = URL.parse(written)
  const isOpen =
    url !== null && /^(?:https?|mailto):$/.test(url.protocol) && url.username === '' && url.password === ''
  return isOpen ? { address: url.href, href: url.href } : { address: written, href: undefined }
}

/** The letters of some inlines alone. */
export const plainOf = (kids: readonly Inline[]): string =>
  kids.map(kid => ('text' in kid ? kid.text : plainOf(kid.kids))).join('')

/** Whether a link shows its address already, as one that was written out does. */
export const saysAddress = ({ kids, address }: Extract<Inline, { kind: 'link' }>): boolean => {
  const said = plainOf(kids)
  return said === address || `${said}/` === address || `mailto:${said}` === address
}
