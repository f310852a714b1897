/** Writes the documents that are printed from the tables: docs/wire-3.md. With --check it only compares. */
import { readFileSync, writeFileSync } from 'node:fs'
import { wire3Document } from './wire-3-document.ts'

const path = new URL('../docs/wire-3.md', import.meta.url).pathname
if (!process.argv.includes('--check')) writeFileSync(path, wire3Document())
else if (readFileSync(path, 'utf8') !== wire3Document()) {
  process.stderr.write('docs/wire-3.md is not what the tables say; run: npm run -s docs\n')
  process.exitCode = 1
}
