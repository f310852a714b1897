/** Words for one task that were written on two screens. */
import { expect, test } from 'vitest'
import { bothDrafts, givenName, isSameDraft, nothingWritten, sayFile } from './drafts.ts'

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

test('a file that the console gave is known by its name, and one of the machine is not taken for it', () => {
  const folder = 'a0'.repeat(16)
  expect(givenName(`/home/a/uploads/${folder}/report.pdf`)).toBe('report.pdf')
  expect(givenName(`C:\\a\\uploads\\${folder}\\report.pdf`)).toBe('report.pdf')
  for (const path of ['/home/a/uploads/report.pdf', `/home/a/${folder}/report.pdf`, '/a/uploads/x/y'])
    expect([path, givenName(path), sayFile(path)]).toEqual([path, undefined, path])
  expect(sayFile(`/a/uploads/${folder}/report.pdf`)).toBe('report.pdf (given in the console)')
})
