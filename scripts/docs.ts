/** Writes the documents that are printed from tables. With --check it only compares. */
import { readFileSync, writeFileSync } from 'node:fs'
import { printedDocuments } from './printed-documents.ts'

for (const [name, text] of Object.entries(printedDocuments())) {
  const path = new URL(`../docs/${name}`, import.meta.url).pathname
  if (!process.argv.includes('--check')) writeFileSync(path, text)
  else if (readFileSync(path, 'utf8') !== text) {
    process.stderr.write(`docs/${name} is not what the tables say; run: npm run -s docs\n`)
    process.exitCode = 1
  }
}
