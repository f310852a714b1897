/** Words for one task that were written on two screens. */
import { expect, test } from 'vitest'
import { bothDrafts, isSameDraft, nothingWritten } from './drafts.ts'

const written = (text: string, ...files: string[]) => ({ text, files })

test.each([
  ['one that goes on with the other stands once', written('a'), written('a b'), written('a b')],
  ['one that the other goes on with stands once', written('a b'), written('a'), written('a b')],
  ['words of both stand behind each other', written('a'), written('b'), written('a\n\nb')],
  [
    'files of both go along, each once',
    written('', '/x'),
    written('a', '/y', '/x'),
    written('a', '/x', '/y'),
  ],
])('%s', (_what, there, here, both) => expect(bothDrafts(there, here)).toEqual(both))

test('a draft with another file is another draft', () => {
  expect(isSameDraft(written('a', '/x'), written('a'))).toBe(false)
  expect(isSameDraft(nothingWritten, written(''))).toBe(true)
})
