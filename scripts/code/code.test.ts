import { describe, expect, test } from 'vitest'
import { longFunctions } from './functions.ts'
import { unreadMembers } from './unread-members.ts'

const lines = (n: number, line = '  work()\n') => line.repeat(n)

describe('the length of a function', () => {
  test('counts the functions that stand in it, and no blank lines', () => {
    const inner = `  const inner = () => {\n${lines(5)}  }\n`
    const source = `function outer() {\n${inner}\n\n${lines(3)}}\n`
    expect(longFunctions('a.ts', source, 11)).toEqual([{ line: 1, lines: 12 }])
    expect(longFunctions('a.ts', source, 12)).toEqual([])
    expect(longFunctions('a.ts', source, 6)).toHaveLength(2)
  })

  test('is that of methods too', () => {
    expect(longFunctions('a.ts', `class A {\n  #b(): void {\n${lines(9)}  }\n}\n`, 8)).toHaveLength(1)
  })
})

describe('a member', () => {
  const unread = (...sources: string[]) =>
    unreadMembers(new Map(sources.map((source, n) => [`${n}.ts`, source])), {
      declares: () => true,
      isCarried: ({ name }) => name.includes('_'),
    }).map(({ name }) => name)

  test('that is declared and given, and asked for by nobody, is unread', () => {
    expect(
      unread('type Row = { path: string; streams: boolean }', 'const row = { path, streams }; use(row.path)'),
    ).toEqual(['streams'])
  })

  test.each([
    ['by name', 'row.streams'],
    ['by destructuring', 'const { streams } = row'],
    ['as a parameter', 'const f = ({ streams: is }) => is'],
    ['by a text', "const which = 'streams'"],
    ['before it is written', 'row.streams += 1'],
  ])('that is read %s is none', (_, source) => {
    expect(unread('type Row = { streams: boolean }', source)).toEqual([])
  })

  test.each([
    ['written', 'row.streams = true'],
    ['named in a type', "type Part = Pick<Row, 'streams'>"],
  ])('that is only %s is unread', (_, source) => {
    expect(unread('type Row = { streams: boolean }', source)).toEqual(['streams'])
  })

  test('of a class is one too, also a private one; what leaves as a whole is none', () => {
    expect(unread('class A { #held = 1; count() {} get size() { return 1 } made_at = 0 }')).toEqual([
      '#held',
      'count',
      'size',
    ])
  })
})
