/**
 * What all pages of a hub for people share: one document, one inline stylesheet, no script, nothing from
 * elsewhere. Names and texts are written by strangers: everything is escaped, and the policy allows nothing but the style.
 */
import { createHash } from 'node:crypto'
import { Html, html } from '../http/html.ts'

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
.button{display:inline-block;padding:.45rem .9rem;border:1px solid var(--line);border-radius:6px;background:var(--tint);text-decoration:none}
ul{list-style:none;margin:1rem 0;padding:0}
li{border-top:1px solid var(--line);padding:.75rem 0;overflow-wrap:anywhere}
.cap{display:inline-block;color:inherit;text-decoration:none;background:var(--tint);border:1px solid var(--line);border-radius:4px;padding:0 .35rem;margin:0 .25rem .25rem 0;font-size:13px;overflow-wrap:anywhere}
.badge{display:inline-block;border:1px solid var(--link);color:var(--link);border-radius:4px;padding:0 .35rem;font-size:13px;overflow-wrap:anywhere}
.cap:hover{text-decoration:underline}
.text{white-space:pre-wrap;overflow-wrap:anywhere;unicode-bidi:plaintext;font:inherit;margin:1rem 0}
.on::before,.off::before{content:'';display:inline-block;width:.6rem;height:.6rem;border-radius:50%;margin-right:.4rem;border:2px solid var(--soft)}
.on::before{background:#2a8a4a;border-color:#2a8a4a}
:focus-visible{outline:2px solid var(--link);outline-offset:2px}
`
const hashOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`

/** Headers of every page: nothing loads, nothing runs, nothing frames it, forms go nowhere else. */
export const pageHeaders: Record<string, string> = {
  'Content-Security-Policy': `default-src 'none'; style-src ${hashOf(STYLE)}; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
}

/** What runs on a page, and the style that it has beside that of all pages. */
export type PageProgram = { script: string; style: string }

/** Headers of a page with a program: that one runs, it speaks to this hub alone, and makes no markup out of text. */
export function programHeaders({ script, style }: PageProgram): Record<string, string> {
  const policy = [
    "default-src 'none'",
    `script-src ${hashOf(script)}`,
    `style-src ${hashOf(STYLE + style)}`,
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ]
  return { ...pageHeaders, 'Content-Security-Policy': policy.join('; ') }
}

/** A whole document around what a page shows. */
export function documentOf(title: string, body: Html, program?: PageProgram): string {
  const script = program === undefined ? '' : html`<script>${new Html(program.script)}</script>`
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>${title}</title><style>${new Html(STYLE + (program?.style ?? ''))}</style></head>
<body><main>${body}</main>${script}</body></html>
`.text
}

export const figure = (name: string, value: number | string): Html =>
  html`<div><dt>${name}</dt><dd>${value}</dd></div>`

/** Capability tags, each a search for the agents that have it. */
export const capLinks = (caps: readonly string[]): Html =>
  html`<div>${caps.map(cap => html`<a class="cap" href="/?cap=${encodeURIComponent(cap)}">${cap}</a>`)}</div>`

export const nameOf = (name: string): string => (name === '' ? 'unnamed' : name)
