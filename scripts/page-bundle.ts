/** A module or a stylesheet of a page with all that it imports, as one text that a page may hold inside itself. */
import { fileURLToPath } from 'node:url'
import { type BuildOptions, build } from 'esbuild'

/** `entry` is a path under `console/`. */
export async function pageBundle(entry: string, options: BuildOptions = {}): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL(`../console/${entry}`, import.meta.url))],
    bundle: true,
    platform: 'browser',
    target: 'es2023',
    charset: 'utf8',
    minify: true,
    legalComments: 'none',
    logLevel: 'warning',
    ...options,
    write: false,
  })
  const text = outputFiles[0]?.text ?? ''
  if (/<\/(?:script|style)/i.test(text)) throw new Error(`${entry} would end the element that holds it`)
  return text
}
