/** All files of the site, made in memory: pages, their Markdown, pictures, search, style. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { type Documents, readDocuments } from './documents.ts'
import { pageHtml } from './layout.ts'
import { llmsText } from './llms.ts'
import { markdownOf, render } from './markdown.ts'
import { readNavigation } from './navigation.ts'
import { searchScript } from './search.ts'

export type SiteFiles = Map<string, string | Uint8Array>

export async function siteFiles(root: string): Promise<SiteFiles> {
  const documents = readDocuments(root)
  const files: SiteFiles = new Map(await fixedFiles(root))
  const sections = readNavigation(documents)
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  for (const document of documents.all.values()) {
    const rendered = render(document, documents)
    files.set(`${document.page}.html`, pageHtml({ ...rendered, document, sections, version }))
    files.set(`${document.page}.md`, markdownOf(document, documents))
    for (const [place, path] of rendered.files) files.set(place, readFileSync(join(root, path)))
  }
  files.set('llms.txt', llmsText(documents, sections))
  files.set('search-parts.js', searchScript(readable(documents)))
  return files
}

const readable = ({ all }: Documents) => all.values()

/** What does not come from the documents: two scripts, the style, the icon. */
async function fixedFiles(root: string): Promise<[string, string][]> {
  const at = (name: string): string => join(root, 'console/docs', name)
  const { outputFiles } = await build({
    entryPoints: { site: at('main.ts'), colours: at('colours.ts'), style: at('site.css') },
    outdir: 'out',
    bundle: true,
    write: false,
    format: 'iife',
    platform: 'browser',
    target: 'es2023',
    charset: 'utf8',
    minify: true,
    legalComments: 'none',
    logLevel: 'warning',
  })
  const made = (end: string): string => outputFiles.find(({ path }) => path.endsWith(end))?.text ?? ''
  return [
    ['site.js', made('site.js')],
    ['colours.js', made('colours.js')],
    ['site.css', made('style.css')],
    ['icon.svg', readFileSync(at('icon.svg'), 'utf8')],
  ]
}
