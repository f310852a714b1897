/** The console of a node as one file: HTML with its stylesheet and its module inside; the node writes nonce and boot in. */

import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { bootMarks } from '../protocol/control/console.ts'
import { operations } from '../protocol/control/operations.ts'

const folder = new URL('../console/page/', import.meta.url)
const read = (name: string): string => readFileSync(new URL(name, folder), 'utf8')

async function bundled(entry: string, format?: 'esm'): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL(entry, folder))],
    bundle: true,
    write: false,
    ...(format === undefined ? {} : { format }),
    platform: 'browser',
    target: 'es2023',
    charset: 'utf8',
    minify: true,
    legalComments: 'none',
    logLevel: 'warning',
    define: {
      'globalThis.SVC_CONSOLE_OPERATIONS': JSON.stringify(
        Object.fromEntries(
          Object.entries(operations).map(([name, { method, path, reads }]) => [name, [method, path, reads]]),
        ),
      ),
    },
  })
  return outputFiles[0]?.text ?? ''
}

export async function consolePage(): Promise<string> {
  const [code, style] = [await bundled('main.ts', 'esm'), await bundled('styles.css')]
  if (/<\/(?:script|style)/i.test(code + style)) throw new Error('the page would end its own script')
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>svc</title><style nonce="${bootMarks.nonce}">${style}</style></head>
<body>
${read('page.html')}<script type="application/json" id="boot">${bootMarks.boot}</script>
<script type="module" nonce="${bootMarks.nonce}">${code}</script>
</body></html>
`
}
