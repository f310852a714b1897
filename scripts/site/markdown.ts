/** A document as HTML and, with links that hold beside the page, as Markdown. */
import { dirname, posix } from 'node:path'
import { Marked, type Token, type Tokens } from 'marked'
import { type Html, html } from '../../hub/http/html.ts'
import { type Document, type Documents, type Target, targetOf, wordsOf } from './documents.ts'

export type Heading = { depth: number; id: string; words: string }
export type Rendered = {
  body: string
  headings: Heading[]
  /** Files of the tree that the page shows or links to, by their place in the site. */
  files: ReadonlyMap<string, string>
}

/** As links of the documents name a heading: small letters, a hyphen for each space, no punctuation. */
const slugOf = (words: string): string =>
  words
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-')

/** The way from one page of the site to another file of it. */
export const between = (from: string, to: string): string => posix.relative(dirname(from), to) || to

/** A file of docs/ keeps its place; one of the rest of the tree is shown as text, whatever its name. */
function placeInSite(path: string): string {
  if (path.startsWith('docs/')) return path.slice('docs/'.length)
  return `files/${path}.txt`
}

/** The headings of a document, each with an id that is there once. */
export function headingsOf({ tokens }: Document): Heading[] {
  const seen = new Map<string, number>()
  return tokens
    .filter((token): token is Tokens.Heading => token.type === 'heading')
    .map(({ depth, tokens: inner }) => {
      const words = wordsOf(inner)
      const slug = slugOf(words)
      const times = seen.get(slug) ?? 0
      seen.set(slug, times + 1)
      return { depth, id: times === 0 ? slug : `${slug}-${times}`, words }
    })
}

export function render(document: Document, documents: Documents): Rendered {
  const headings = headingsOf(document)
  const waiting = [...headings]
  const files = new Map<string, string>()
  const placed = (path: string): string => {
    files.set(placeInSite(path), path)
    return between(document.page, placeInSite(path))
  }
  const href = (target: Target): string => {
    if (target.kind === 'outside') return target.href
    if (target.kind === 'file') return placed(target.path)
    const { page } = target.document
    return page === document.page && target.hash !== ''
      ? target.hash
      : `${between(document.page, page)}.html${target.hash}`
  }
  const to = (link: string): string => href(targetOf(documents, document.path, link))
  const marked = new Marked({ gfm: true })
  marked.use({
    renderer: {
      heading({ depth, tokens }) {
        const id = waiting.shift()?.id ?? ''
        const inner = this.parser.parseInline(tokens)
        if (depth === 1) return `<h1 id="${id}">${inner}</h1>\n`
        return `<h${depth} id="${id}">${inner} <a class="anchor" href="#${id}" aria-label="Link to this heading">#</a></h${depth}>\n`
      },
      link({ href: link, tokens }) {
        return `<a href="${html`${to(link)}`.text}">${this.parser.parseInline(tokens)}</a>`
      },
      image({ href: link, text }) {
        return html`<img src="${to(link)}" alt="${text}" loading="lazy">`.text
      },
      html({ text }) {
        return withSources(text, to)
      },
      code({ text, lang }) {
        return codeBlock(text, lang ?? '').text
      },
      table(token) {
        const row = (cells: Tokens.TableCell[]): string =>
          `<tr>${cells.map(cell => this.tablecell(cell)).join('')}</tr>\n`
        const rows = token.rows.map(row).join('')
        return `<div class="table" tabindex="0" role="group" aria-label="Table"><table><thead>${row(token.header)}</thead><tbody>${rows}</tbody></table></div>\n`
      },
      tablecell({ header, tokens, align }) {
        const inner = this.parser.parseInline(tokens)
        const tag = header && inner !== '' ? 'th scope="col"' : 'td'
        const side = align === null ? '' : ` class="${align}"`
        return `<${tag}${side}>${inner}</${tag.slice(0, 2)}>`
      },
    },
  })
  return {
    body: marked.parser(document.tokens as Token[] & { links: Record<string, never> }),
    headings,
    files,
  }
}

const SHOWN_TAGS = /^<\/?(?:img|picture|source|kbd|br|p)\b/

/** Pictures keep their tag; comments go; anything else is text. */
function withSources(text: string, to: (link: string) => string): string {
  return text.replace(/<!--[\s\S]*?-->\n?|<[^>]*>/g, tag => {
    if (tag.startsWith('<!--')) return ''
    if (!SHOWN_TAGS.test(tag)) return html`${tag}`.text
    const moved = tag.replace(/\b(src|srcset)="([^"]*)"/g, (_, name, link) => `${name}="${to(link)}"`)
    return moved.startsWith('<img ') ? moved.replace(/>$/, ' loading="lazy">') : moved
  })
}

/** Remarks of a shell are set back, so that the commands stand out. */
function codeBlock(text: string, language: string): Html {
  const lines = text.split('\n').map(line => {
    const mark = language === 'sh' ? line.search(/(?:^|\s)# /) : -1
    return mark < 0
      ? html`${line}`
      : html`${line.slice(0, mark)}<span class="remark">${line.slice(mark)}</span>`
  })
  const inside = lines.map((line, i) => (i === 0 ? line : html`\n${line}`))
  return html`<div class="code" data-language="${language}"><pre tabindex="0"><code>${inside}</code></pre></div>
`
}

/** The Markdown of a page: links to pages lead to their Markdown, those to files to their copies. */
export function markdownOf(document: Document, documents: Documents): string {
  const parts = document.text.split(/(^ *```[\s\S]*?^ *```)/m)
  const moved = (link: string): string => {
    const target = targetOf(documents, document.path, link)
    if (target.kind === 'outside' || link.startsWith('#')) return link
    const to = target.kind === 'page' ? `${target.document.page}.md` : placeInSite(target.path)
    return `${between(document.page, to)}${target.hash}`
  }
  return parts
    .map((part, i) =>
      i % 2 === 1
        ? part
        : part
            .replace(/\]\(([^)\s]+)\)/g, (_, link) => `](${moved(link)})`)
            .replace(/\b(src|srcset)="([^"]*)"/g, (_, name, link) => `${name}="${moved(link)}"`),
    )
    .join('')
}
