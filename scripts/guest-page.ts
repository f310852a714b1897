/** What runs on the page for guests of a hub, as one script; the hub puts it into the page, under a policy that names it. */

import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

export async function guestScript(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL('../console/guest/main.ts', import.meta.url))],
    bundle: true,
    write: false,
    format: 'iife',
    platform: 'browser',
    target: 'es2022',
    charset: 'ascii',
    minify: true,
    legalComments: 'none',
    logLevel: 'warning',
  })
  const code = outputFiles[0]?.text ?? ''
  if (/<\/script|<!--/i.test(code)) throw new Error('the page would end its own script')
  return code
}
