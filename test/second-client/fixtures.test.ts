/** A second implementation, in Python and from the documents alone, reads the vectors: no file is read by nobody. */
import { execFileSync } from 'node:child_process'
import { beforeAll, describe, expect, test } from 'vitest'
import { python } from './python.ts'

describe.skipIf(python === undefined)('a second client (needs python3-cryptography)', () => {
  let read: { checked: number; wrong: unknown[]; unread: string[] }
  beforeAll(() => {
    const options = { cwd: import.meta.dirname, encoding: 'utf8' } as const
    read = JSON.parse(execFileSync(python ?? '', ['-B', 'fixtures.py', '../../fixtures'], options))
  })

  test('takes every valid case of the vectors and refuses every invalid one', () => {
    expect(read.wrong).toEqual([])
    expect(read.checked).toBeGreaterThanOrEqual(4744)
  })

  test('reads every file of the vectors', () => {
    expect(read.unread).toEqual([])
  })
})
