/** The composer as it is drawn. */
import { expect, test } from 'vitest'
import { bufferOf } from './edit.ts'
import { composerLines } from './overlays.ts'

const names = (n: number) => Array.from({ length: n }, (_, i) => `part-${i + 1}.txt`)
const drawn = (files: readonly string[], fault?: string, height = 8) =>
  composerLines(
    {
      target: { kind: 'reply', id: 'i' },
      buffer: bufferOf('words'),
      files,
      isSending: false,
      ...(fault !== undefined && { fault }),
    },
    60,
    height,
  )
    .lines.map(line =>
      line
        .map(({ text }) => text)
        .join('')
        .trimEnd(),
    )
    .slice(1)
    .filter(text => text !== '')

test('why something was not sent is in sight, however many files go along', () => {
  expect(drawn(names(2), 'part-1.txt is gone')).toEqual([
    ' › words',
    ' ✗ part-1.txt is gone',
    ' + part-1.txt',
    ' + part-2.txt',
  ])
  expect(drawn(names(60), 'part-1.txt is gone')).toEqual([
    ' › words',
    ' ✗ part-1.txt is gone',
    ' + 56 other files',
    ...names(60)
      .slice(56)
      .map(name => ` + ${name}`),
  ])
  expect(drawn(names(60), 'a fault', 3)).toEqual([' › words', ' ✗ a fault'])
})

test('a file that the console gave is shown by its name', () => {
  expect(drawn([`/home/a/uploads/${'a0'.repeat(16)}/report.pdf`])).toEqual([
    ' › words',
    ' + report.pdf (given in the console)',
  ])
})
