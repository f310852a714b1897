/** Builds the documents into a site: `npm run docs:site [-- folder]`; without a folder it is site/ of the checkout. */
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { siteFiles } from './site/site.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const folder = resolve(process.argv[2] ?? join(root, 'site'))

/** Nothing but an older site is written over. */
const isTaken =
  existsSync(folder) && readdirSync(folder).length > 0 && !existsSync(join(folder, 'search-parts.js'))
if (isTaken) {
  process.stderr.write(`${folder} holds something else than the site; name an empty folder\n`)
  process.exit(1)
}
const files = await siteFiles(root)
rmSync(folder, { recursive: true, force: true })
for (const [place, content] of files) {
  const path = join(folder, place)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, content)
}
const pages = [...files.keys()].filter(place => place.endsWith('.html')).length
process.stdout.write(`${pages} pages in ${folder}; open ${join(folder, 'index.html')}\n`)
