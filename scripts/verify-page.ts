/** The page that verifies, as one file: HTML with its stylesheet and its module inside, under a policy that names both. */

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { pageBundle } from './page-bundle.ts'

const folder = new URL('../console/verify/', import.meta.url)
const read = (name: string): string => readFileSync(new URL(name, folder), 'utf8')
const hash = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`

export async function verifyPage(version: string): Promise<string> {
  const code = await pageBundle('verify/main.ts', { format: 'iife', target: 'es2022' })
  const style = read('page.css')
  const policy = [
    "default-src 'none'",
    `script-src ${hash(code)}`,
    `style-src ${hash(style)}`,
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ')
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="referrer" content="no-referrer"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>Verify evidence of svc</title><style>${style}</style></head>
<body>
${read('page.html').replace('VERSION', version)}<script>${code}</script>
</body></html>
`
}
