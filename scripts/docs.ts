/** Writes the documents that are printed from tables. With --check it only compares. */

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { printedDocuments } from './printed-documents.ts'

for (const [name, text] of Object.entries(printedDocuments())) {
  const path = fileURLToPath(new URL(`../${name}`, import.meta.url))
  mkdirSync(dirname(path), { recursive: true })
  if (!process.argv.includes('--check')) writeFileSync(path, text)
  else if (readFileSync(path, 'utf8') !== text) {
    process.stderr.write(`${name} is not what the tables say; run: npm run -s docs\n`)
    process.exitCode = 1
  }
}
