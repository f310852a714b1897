/** The claims name tests that are there; `npm run -s claims` says of a report whether they passed. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readClaims } from '../scripts/claims/claims.ts'
import { writtenNames } from '../scripts/claims/written-names.ts'

const root = new URL('..', import.meta.url).pathname
const claims = readClaims(root)
const tests = [...claims.values()].flat().flatMap(claim => claim.tests)

const read = new Map<string, string[]>()
function namesIn(path: string): string[] {
  const names = read.get(path) ?? writtenNames(path, readFileSync(join(root, path), 'utf8'))
  read.set(path, names)
  return names
}

test.each(tests)('the claim held by $file: $words', ({ file, words, at = file }) => {
  expect([file, existsSync(join(root, file)), /\.test\.tsx?$/.test(file)]).toEqual([file, true, true])
  expect(namesIn(at).filter(name => name.includes(words)).length).toBeGreaterThan(0)
})

test.each([...claims])('%s names tests for each of its sentences, and no sentence twice', (_, rows) => {
  expect(rows.filter(({ section, sentence, tests: of }) => !section || !sentence || of.length === 0)).toEqual(
    [],
  )
  const sentences = rows.map(({ section, sentence }) => `${section}: ${sentence}`)
  expect(sentences.filter((one, i) => sentences.indexOf(one) !== i)).toEqual([])
})

test('much is claimed of the node, of who learns what, of devices and of coding agents', () => {
  const counts = Object.fromEntries([...claims].map(([subject, rows]) => [subject, rows.length]))
  expect(Object.keys(counts)).toEqual(['agents', 'devices', 'node', 'security'])
  expect(counts['node']).toBeGreaterThan(150)
  expect(counts['security']).toBeGreaterThan(125)
  expect(counts['agents']).toBeGreaterThan(25)
})
