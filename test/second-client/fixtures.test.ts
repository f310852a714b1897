/** A second implementation, in Python and from the documents alone, reads the vectors: no file is read by nobody. */
import { execFileSync } from 'node:child_process'
import { beforeAll, describe, expect, test } from 'vitest'
import { python } from './python.ts'

/** Files that the second client does not read yet; a new file has to be read, and one that is read leaves this list. */
const NOT_YET = ['card/cards.json', 'interaction/steps.json']

describe.skipIf(python === undefined)('a second client (needs python3-cryptography)', () => {
  let read: { checked: number; wrong: unknown[]; unread: string[] }
  beforeAll(() => {
    const options = { cwd: import.meta.dirname, encoding: 'utf8' } as const
    read = JSON.parse(execFileSync(python ?? '', ['-B', 'fixtures.py', '../../fixtures'], options))
  })

  test('takes every valid case of the vectors and refuses every invalid one', () => {
    expect(read.wrong).toEqual([])
    expect(read.checked).toBeGreaterThanOrEqual(4205)
  })

  test('reads every file of the vectors, but for those that are listed', () => {
    expect(read.unread).toEqual(NOT_YET)
  })
})
