/** What the search of the site looks through: each document in the parts that its headings make. */
import type { Token, Tokens } from 'marked'
import type { Part } from '../../console/docs/part.ts'
import { type Document, wordsOf } from './documents.ts'
import { type Heading, headingsOf } from './markdown.ts'

/** The changes of each release repeat the words of every page, so they would hide it. */
const LEFT_OUT = new Set(['CHANGELOG.md'])

/** The parts of all documents, as one script: a page that is opened from the disk may load nothing else. */
export function searchScript(documents: Iterable<Document>): string {
  const parts = [...documents].filter(({ path }) => !LEFT_OUT.has(path)).flatMap(partsOf)
  return `globalThis.svcParts=${JSON.stringify(parts)}\n`
}

function partsOf(document: Document): Part[] {
  const headings = headingsOf(document)
  const parts: Part[] = []
  for (const token of document.tokens) {
    const heading = token.type === 'heading' ? headings.shift() : undefined
    const last = parts.at(-1)
    if (heading) parts.push(partOf(document, heading))
    else if (last) last.text = `${last.text} ${textOf(token)}`.trim()
  }
  return parts
}

function partOf({ page, title }: Document, { depth, id, words }: Heading): Part {
  const isTop = depth === 1
  return { to: `${page}.html${isTop ? '' : `#${id}`}`, page: title, heading: isTop ? '' : words, text: '' }
}

function textOf(token: Token): string {
  const texts = ((): string[] => {
    switch (token.type) {
      case 'table': {
        const { header, rows } = token as Tokens.Table
        return [header, ...rows].flat().map(cell => wordsOf(cell.tokens))
      }
      case 'list':
        return (token as Tokens.List).items.flatMap(item => item.tokens.map(textOf))
      case 'blockquote':
        return (token.tokens ?? []).map(textOf)
      case 'html':
      case 'space':
        return []
      case 'code':
        return [(token as Tokens.Code).text]
      default:
        return [wordsOf([token])]
    }
  })()
  return texts.join(' ').replace(/\s+/g, ' ').trim()
}
