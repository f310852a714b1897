import { expect, test } from 'vitest'
import { writtenNames } from './written-names.ts'

const isWritten = (source: string) =>
  writtenNames('a.test.ts', source).some(name => name.includes('it holds'))

test.each([
  ["test('it holds', () => {})", 'a test'],
  ["describe('it holds', () => { test('x', () => {}) })", 'a group'],
  ["test.each(['it holds'])('%s', () => {})", 'a case of a table'],
  ['test(`for \u0024{n} it holds`, () => {})', 'a name with a value in it'],
  ["test.runIf(isLinux)('it holds', () => {})", 'a test that a condition runs'],
  ["test('it holds', { skip: false }, () => {})", 'an option that leaves out nothing'],
  ["test('it holds', () => { ctx.skip() })", 'another skip, which a report alone shows'],
])('%s names a test that runs: %s', source => {
  expect(isWritten(source)).toBe(true)
})

test.each([
  ["test.skip('it holds', () => {})", 'a skipped test'],
  ["test.todo('it holds')", 'a test to be written'],
  ["test.skip.each([1])('it holds', () => {})", 'a skipped table'],
  ["test.each([1]).skip('it holds', () => {})", 'a table skipped behind'],
  ["describe.skip('x', () => { test('it holds', () => {}) })", 'a test of a skipped group'],
  ["test('it holds', { skip: true }, () => {})", 'an option'],
  ["// it holds\ntest('x', () => {})", 'a comment'],
  ['const it_holds = 1; const { holds } = it', 'code'],
])('%s names no test that runs: %s', source => {
  expect(isWritten(source)).toBe(false)
})

test('data that is no program is taken as it is', () => {
  expect(writtenNames('a.json', '{ "reason": "it holds" }')).toEqual(['{ "reason": "it holds" }'])
})
