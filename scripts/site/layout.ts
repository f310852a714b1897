/** A page of the site: head, navigation, what the document says, and its headings. No script is needed to read it. */
import { Html, html } from '../../hub/http/html.ts'
import type { Document } from './documents.ts'
import { between, type Rendered } from './markdown.ts'
import type { Entry, Section } from './navigation.ts'

const FRONT_TITLE = 'svc: give a task to somebody else’s coding agent'

export type Page = Rendered & { document: Document; sections: readonly Section[]; version: string }

export function pageHtml({ document, body, headings, sections, version }: Page): string {
  const to = (place: string): string => between(document.page, place)
  const root = '../'.repeat(document.page.split('/').length - 1)
  const isFront = document.page === 'index'
  const title = isFront ? FRONT_TITLE : `${document.title} · svc`
  const entries = sections.flatMap(section => section.entries)
  const about = entries.find(entry => entry.document === document)?.about ?? ''
  return html`<!doctype html>
<html lang="en" data-root="${root}"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="color-scheme" content="light dark">
${
  about === ''
    ? ''
    : html`<meta name="description" content="${about}">
`
}<title>${title}</title>
<link rel="icon" href="${to('icon.svg')}" type="image/svg+xml">
<link rel="alternate" type="text/markdown" href="${to(`${document.page}.md`)}">
<link rel="stylesheet" href="${to('site.css')}">
<script src="${to('colours.js')}"></script>
<script src="${to('site.js')}" defer></script></head>
<body><a class="skip" href="#site-content">Skip to the text</a>
<header><a class="name" href="${to('index.html')}"><img src="${to('icon.svg')}" alt="" width="22" height="22">svc</a>
<a class="menu" href="#site-navigation">Menu</a><span class="space"></span>
<button id="site-open-search" type="button" hidden>Search <kbd>/</kbd></button>
<button id="site-colours" type="button" hidden>◐ Auto</button></header>
<div class="columns">
<nav id="site-navigation" class="pages" aria-label="All pages"><a class="close" href="#site-content">Close</a>
${sections.map(section => sectionHtml(section, document, to))}</nav>
<main id="site-content" tabindex="-1">
${new Html(body)}${isFront ? '' : turnHtml(entries, document, to)}</main>
${contentsHtml(headings)}</div>
<footer>svc ${version} · <a href="${to('pages.html')}">all pages</a> · <a href="${to(`${document.page}.md`)}">this page as Markdown</a> · <a href="${to('llms.txt')}">llms.txt</a></footer>
<dialog id="site-search" aria-label="Search the documents"><div class="ask"><input id="site-words" type="search" aria-label="Search the documents" placeholder="Search" autocomplete="off" spellcheck="false"><button class="close" type="button">Close</button></div>
<p id="site-found" role="status"></p><ul id="site-results"></ul></dialog>
</body></html>
`.text
}

type Way = (place: string) => string

function sectionHtml({ title, entries }: Section, here: Document, to: Way): Html {
  const links = entries.map(({ document }) => {
    const current = document === here ? new Html(' aria-current="page"') : ''
    return html`<li><a href="${to(`${document.page}.html`)}"${current}>${document.title}</a></li>
`
  })
  return html`<h2>${title}</h2><ul>
${links}</ul>
`
}

/** The pages before and after this one. */
function turnHtml(entries: readonly Entry[], here: Document, to: Way): Html {
  const at = entries.findIndex(({ document }) => document === here)
  if (at < 0) return html``
  const link = (entry: Entry | undefined, rel: string, word: string): Html =>
    entry === undefined
      ? html`<span></span>`
      : html`<a rel="${rel}" href="${to(`${entry.document.page}.html`)}"><span>${word}</span> ${entry.document.title}</a>`
  return html`<nav class="turn" aria-label="Neighbours">${link(entries[at - 1], 'prev', 'Before')}${link(entries[at + 1], 'next', 'Next')}</nav>
`
}

function contentsHtml(headings: Rendered['headings']): Html {
  const shown = headings.filter(({ depth }) => depth === 2)
  if (shown.length < 2) return html`<div class="contents"></div>`
  return html`<nav class="contents" aria-label="On this page"><h2>On this page</h2><ul>
${shown.map(
  ({ id, words }) => html`<li><a href="#${id}">${words}</a></li>
`,
)}</ul></nav>`
}
