/** The page of a hub's operator as one file: HTML with its stylesheet and its module inside, each allowed by its hash. */
import { ADMIN_BASE, adminRoutes } from '../protocol/wire1/routes/admin.ts'
import { pageBundle } from './page-bundle.ts'

/** Method and path behind the base of each route. */
const routes = Object.fromEntries(
  Object.entries(adminRoutes).map(([name, { method, path }]) => [
    name,
    [method, path.slice(ADMIN_BASE.length)],
  ]),
)

export async function operatorPage(): Promise<string> {
  const define = { SVC_ADMIN_ROUTES: JSON.stringify(routes) }
  const code = await pageBundle('operator/main.ts', { format: 'esm', define })
  const style = await pageBundle('operator/operator.css')
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
