/** Writes the documents that are printed from tables: docs/wire-3.md and docs/limits.md. With --check it only compares. */
import { readFileSync, writeFileSync } from 'node:fs'
import { limitsDocument } from '../hub/limits-config.ts'
import { wire3Document } from './wire-3-document.ts'

const documents = { 'wire-3.md': wire3Document(), 'limits.md': limitsDocument() }
for (const [name, text] of Object.entries(documents)) {
  const path = new URL(`../docs/${name}`, import.meta.url).pathname
  if (!process.argv.includes('--check')) writeFileSync(path, text)
  else if (readFileSync(path, 'utf8') !== text) {
    process.stderr.write(`docs/${name} is not what the tables say; run: npm run -s docs\n`)
    process.exitCode = 1
  }
}
