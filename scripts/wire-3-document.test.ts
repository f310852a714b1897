import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { wire3Document } from './wire-3-document.ts'

test('docs/wire-3.md is what the tables say (npm run -s docs writes it)', () => {
  expect(readFileSync(new URL('../docs/wire-3.md', import.meta.url), 'utf8')).toBe(wire3Document())
})
