/** The navigation of the site, read from the tables of docs/README.md: the one list of pages. */
import type { Tokens } from 'marked'
import { type Document, type Documents, INDEX, targetOf, wordsOf } from './documents.ts'

export type Entry = { document: Document; about: string }
export type Section = { title: string; entries: Entry[] }

/** A section for each heading with a table; an entry for each page that the first cell of a row links to. */
export function readNavigation(documents: Documents): Section[] {
  const index = documents.all.get(INDEX)
  const sections: Section[] = []
  for (const token of index?.tokens ?? []) {
    if (token.type === 'heading' && token.depth === 2)
      sections.push({ title: wordsOf((token as Tokens.Heading).tokens), entries: [] })
    if (token.type === 'table')
      sections.at(-1)?.entries.push(...(token as Tokens.Table).rows.flatMap(row => entriesOf(row, documents)))
  }
  return sections
}

function entriesOf([pages, about]: Tokens.TableCell[], documents: Documents): Entry[] {
  const links = (pages?.tokens ?? []).filter((token): token is Tokens.Link => token.type === 'link')
  return links.flatMap(({ href }) => {
    const target = targetOf(documents, INDEX, href)
    return target.kind === 'page' ? [{ document: target.document, about: wordsOf(about?.tokens) }] : []
  })
}
