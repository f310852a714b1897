/** The page of a hub's operator as one file: HTML with its stylesheet and its module inside, each allowed by its hash. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { ADMIN_BASE, adminRoutes } from '../protocol/wire1/routes/admin.ts'

const folder = new URL('../console/operator/', import.meta.url)

/** Method and path behind the base of each route. */
const routes = Object.fromEntries(
  Object.entries(adminRoutes).map(([name, { method, path }]) => [
    name,
    [method, path.slice(ADMIN_BASE.length)],
  ]),
)

export async function operatorPage(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL('main.ts', folder))],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'browser',
    target: 'es2023',
    charset: 'utf8',
    minify: true,
    legalComments: 'none',
    logLevel: 'warning',
    define: { SVC_ADMIN_ROUTES: JSON.stringify(routes) },
  })
  const code = outputFiles[0]?.text ?? ''
  const style = readFileSync(new URL('operator.css', folder), 'utf8')
  if (/<\/(?:script|style)/i.test(code + style)) throw new Error('the page would end its own script')
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>hub operator</title><style>${style}</style></head>
<body><div id="app"></div><noscript>This page needs JavaScript; svc-hub orders the same in a terminal.</noscript>
<script type="module">${code}</script>
</body></html>
`
}
