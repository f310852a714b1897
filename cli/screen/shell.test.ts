/** Lines and paths that are typed into the terminal inbox. */
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { commands } from '../table.ts'
import { completionsOf, fileAt, finalOf, isStep, pathsFrom, wordsOf } from './shell.ts'

test.each([
  ['thread abc', ['thread', 'abc']],
  ['  delegate bob "two words"  ', ['delegate', 'bob', 'two words']],
  [`say 'it''s' a"b c"d`, ['say', 'its', 'ab cd']],
  ['a\\ b', ['a b']],
  ['"a\\"b"', ['a"b']],
  ['"open', ['open']],
  ["''", ['']],
  ['', []],
])('%j is %j', (line, words) => expect(wordsOf(line)).toEqual(words))

describe('a command line', () => {
  const grows = (line: string) => completionsOf(commands, line)
  test('grows by the words of the command table', () => {
    expect(grows('stat')).toEqual(['status '])
    expect(grows('contact a')).toEqual(['contact add '])
    expect(grows('delegate --att')).toEqual(['delegate --attach '])
  })
  test('does not grow into what there is not', () => expect(grows('xyz')).toEqual([]))
})

describe('a path', () => {
  const cwd = mkdtempSync(join(tmpdir(), 'paths-'))
  mkdirSync(join(cwd, 'reports'))
  writeFileSync(join(cwd, 'reports', 'may.md'), 'x')
  writeFileSync(join(cwd, '.hidden'), 'x')
  const io = { cwd, env: { HOME: cwd } }

  test('grows by the files of its folder, and hidden ones only where a dot was typed', () => {
    expect(pathsFrom(io, '')).toEqual(['reports/'])
    expect(pathsFrom(io, 'reports/m')).toEqual(['reports/may.md'])
    expect(pathsFrom(io, '~/re')).toEqual(['~/reports/'])
    expect(pathsFrom(io, '.h')).toEqual(['.hidden'])
    expect(pathsFrom(io, 'nothing/x')).toEqual([])
  })
  test('of no file is refused by its name', () => {
    expect(fileAt(io, 'reports/may.md')).toEqual({ path: join(cwd, 'reports', 'may.md') })
    expect(fileAt(io, 'june.md')).toEqual({ fault: expect.stringContaining('june.md') })
  })
  test('of a file that the console gave, and that is gone, is refused by the name of the file', () => {
    expect(fileAt(io, `/home/a/uploads/${'a0'.repeat(16)}/report.pdf`)).toEqual({
      fault: 'report.pdf is no longer on this node; ctrl-x takes files off, the last one first',
    })
  })
})

describe('the command of a line', () => {
  test.each([
    'contact rm bob',
    'svc delegate bob words',
    '--id work price set task 5',
    'evidence accept',
    'balance --move 5',
    'balance --move=5',
  ])('may change something: %s', line => {
    expect(isStep(commands, line)).toBe(true)
  })

  test.each([
    'inbox',
    'balance',
    'balance --hub http://hub.test',
    'thread x',
    'svc status',
    'evidence',
    'contact rm -h',
    'nothing',
    '',
  ])('changes nothing: "%s"', line => {
    expect(isStep(commands, line)).toBe(false)
  })
})

describe('what cannot be taken back', () => {
  test.each([
    'redeem 5',
    'svc refund x',
    'id rotate',
    '--id work stop',
    'down',
    'id deactivate',
    'hub-leave',
  ])('is said of %s before it runs', line => {
    expect(finalOf(commands, line)).toMatch(/./)
  })

  test.each(['status', 'message x stop', 'help redeem', 'redeem -h', 'nothing', ''])(
    'is not said of "%s"',
    line => {
      expect(finalOf(commands, line)).toBeUndefined()
    },
  )
})
