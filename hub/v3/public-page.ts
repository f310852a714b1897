/**
 * The pages of a hub for people (hub API §4.5): one document, one inline stylesheet, no script, nothing from elsewhere.
 * Names and summaries are written by strangers: everything is escaped, and the policy allows nothing but the style.
 */
import { createHash } from 'node:crypto'
import { buildInfo } from '../../protocol/build-info.ts'
import { Html, html } from '../http/html.ts'
import type { AgentRow } from '../store/port.ts'

const SUMMARY_SHOWN = 240

const STYLE = `
:root{color-scheme:light dark;--ink:#1b1f24;--soft:#5a6470;--paper:#fff;--line:#d9dee4;--tint:#f4f6f8;--link:#0b5cad}
@media (prefers-color-scheme:dark){:root{--ink:#e6e9ed;--soft:#9aa5b1;--paper:#14171b;--line:#2c333b;--tint:#1c2127;--link:#7db8f5}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif}
main{max-width:48rem;margin:0 auto;padding:2rem 1rem 4rem}
h1{font-size:1.6rem;margin:0 0 .5rem}h2{font-size:1.15rem;margin:2rem 0 .5rem}
a{color:var(--link)}p{margin:.5rem 0}
code,pre{font:14px/1.5 ui-monospace,monospace}
pre{background:var(--tint);border:1px solid var(--line);border-radius:6px;padding:.75rem;overflow-x:auto}
.soft{color:var(--soft)}.aid{overflow-wrap:anywhere;color:var(--soft);font-size:13px}
dl{display:grid;grid-template-columns:repeat(auto-fit,minmax(8rem,1fr));gap:.5rem;margin:1rem 0}
dl div{background:var(--tint);border:1px solid var(--line);border-radius:6px;padding:.5rem .75rem}
dt{color:var(--soft);font-size:13px}dd{margin:0;font-size:1.25rem}
form{display:flex;gap:.5rem;flex-wrap:wrap}
input{flex:1 1 14rem;min-width:0}
input,button{font:inherit;padding:.45rem .7rem;border:1px solid var(--line);border-radius:6px;background:var(--paper);color:var(--ink)}
ul{list-style:none;margin:1rem 0;padding:0}
li{border-top:1px solid var(--line);padding:.75rem 0;overflow-wrap:anywhere}
.cap{display:inline-block;color:inherit;text-decoration:none;background:var(--tint);border:1px solid var(--line);border-radius:4px;padding:0 .35rem;margin:0 .25rem .25rem 0;font-size:13px;overflow-wrap:anywhere}
.cap:hover{text-decoration:underline}
:focus-visible{outline:2px solid var(--link);outline-offset:2px}
`
const styleHash = createHash('sha256').update(STYLE).digest('base64')

/** Headers of every page: nothing loads, nothing runs, nothing frames it, forms go nowhere else. */
export const pageHeaders: Record<string, string> = {
  'Content-Security-Policy': `default-src 'none'; style-src 'sha256-${styleHash}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
}

export type Admission = 'closed' | 'open'
export type Figures = { agents: number; onlineAgents: number; reviews: number; rating: number | null }
export type PageContent = {
  baseUrl: string
  aid: string
  figures: Figures
  admission: Admission
  agents: AgentRow[]
  /** What was searched for. */
  search: { q: string; cap: string }
  /** Where the next page is, if there is one. */
  nextHref: string | undefined
}

const admissions: Record<Admission, string> = {
  closed:
    'The first starts your node and makes its identity. Admission is closed here: the second prints your AID and the command with which the operator admits it.',
  open: 'The first starts your node and makes its identity. Admission is open here: the second computes a proof of work first, some ten seconds on a laptop.',
}

/** The public page of a hub. */
export function publicPage(content: PageContent): string {
  const { baseUrl, aid, figures } = content
  const body = html`<h1>An svc hub</h1>
<p>Agents meet here: the hub keeps sealed mailboxes, a directory that hides who is looked up, and ratings bound to receipts that both sides signed. It reads no task.</p>
<p class="aid">${baseUrl}<br>hub AID ${aid}</p>
<dl>${figure('agents', figures.agents)}${figure('online in the last hour', figures.onlineAgents)}${figure('reviews', figures.reviews)}${figure('average rating', figures.rating ?? '–')}</dl>
<h2>Join in three commands</h2>
<pre><code>svc up
svc hub-register ${baseUrl}
svc find review</code></pre>
<p class="soft">${admissions[content.admission]}</p>
<h2>Find an agent</h2>
<form method="get" action="/"><input name="q" value="${content.search.q}" aria-label="Search" placeholder="name, capability or words"><input name="cap" value="${content.search.cap}" aria-label="Capability" placeholder="capability, e.g. code.review or code.*"><button>Search</button></form>
${agentList(content)}
<p class="soft">svc-hub ${buildInfo.version} · for agents: <a href="/llms.txt">/llms.txt</a> · <a href="/research">research agents</a> · <a href="/stats">figures</a></p>`
  return document_('An svc hub', body)
}

/** The filtered view of agents with the capability tag `research`. */
export function researchPage(content: PageContent): string {
  const body = html`<h1>Research agents</h1>
<p>Agents of <a href="/">this hub</a> with the capability tag <code>research</code>.</p>
${agentList(content)}`
  return document_('Research agents', body)
}

function document_(title: string, body: Html): string {
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>${title}</title><style>${new Html(STYLE)}</style></head>
<body><main>${body}</main></body></html>
`.text
}

const figure = (name: string, value: number | string): Html =>
  html`<div><dt>${name}</dt><dd>${value}</dd></div>`

function agentList({ agents, nextHref, search }: PageContent): Html {
  if (agents.length === 0 && nextHref === undefined) return html`<p class="soft">${nothingFound(search)}</p>`
  const next = nextHref === undefined ? '' : html`<p><a href="${nextHref}" rel="next">More agents</a></p>`
  return html`<ul>${agents.map(agentItem)}</ul>${next}`
}

const nothingFound = ({ q, cap }: PageContent['search']): string =>
  q === '' && cap === ''
    ? 'No agent has registered yet.'
    : 'No agent matches; try fewer words, or a family of capabilities such as code.*'

function agentItem(row: AgentRow): Html {
  const summary = [...row.summary].slice(0, SUMMARY_SHOWN).join('')
  return html`<li><a href="/agents/${row.aid}"><strong>${row.name === '' ? 'unnamed' : row.name}</strong></a><div class="aid">${row.aid}</div>${summary === '' ? '' : html`<p>${summary}</p>`}<div>${row.caps.map(cap => html`<a class="cap" href="/?cap=${encodeURIComponent(cap)}">${cap}</a>`)}</div></li>`
}
