/** What a person was told once. */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { notesIn } from './notes.ts'

test('what was seen once is remembered', () => {
  const dir = mkdtempSync(join(tmpdir(), 'notes-'))
  expect(notesIn(dir).read()).toEqual([])
  notesIn(dir).write(['stranger'])
  expect(notesIn(dir).read()).toEqual(['stranger'])
})
