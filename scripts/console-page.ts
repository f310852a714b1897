/** The console of a node as one file: HTML with its stylesheet and its module inside; the node writes nonce and boot in. */

import { readFileSync } from 'node:fs'
import { bootMarks } from '../protocol/control/console.ts'
import { operations } from '../protocol/control/operations.ts'
import { pageBundle } from './page-bundle.ts'

const html = new URL('../console/page/page.html', import.meta.url)

/** Method, path and whether it reads, of each operation. */
const asked = Object.fromEntries(
  Object.entries(operations).map(([name, { method, path, reads }]) => [name, [method, path, reads]]),
)

export async function consolePage(): Promise<string> {
  const define = { 'globalThis.SVC_CONSOLE_OPERATIONS': JSON.stringify(asked) }
  const code = await pageBundle('page/main.ts', { format: 'esm', define })
  const style = await pageBundle('page/styles.css')
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>svc</title><style nonce="${bootMarks.nonce}">${style}</style></head>
<body>
${readFileSync(html, 'utf8')}<script type="application/json" id="boot">${bootMarks.boot}</script>
<script type="module" nonce="${bootMarks.nonce}">${code}</script>
</body></html>
`
}
