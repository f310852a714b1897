import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { fileNamed, importers, relatedTests, runsInThread } from './related.ts'

const root = new URL('../..', import.meta.url).pathname

test('tests that reach a file are found through every import, the nearest first', () => {
  const graph = new Map([
    ['a/x/rule.ts', ['a/x/rule.test.ts', 'a/x/use.ts', 'b/far.slow.test.ts']],
    ['a/x/use.ts', ['a/use.test.ts', 'b/far.test.ts', 'a/x/rule.ts']],
    ['a/x/other.ts', ['a/x/other.test.ts']],
  ])
  expect(relatedTests('a/x/rule.ts', graph)).toEqual([
    ['a/x/rule.test.ts'],
    ['a/use.test.ts'],
    ['b/far.test.ts'],
  ])
  expect(relatedTests('a/x/lonely.ts', graph)).toEqual([[], [], []])
})

test('imports, workers and the engine behind its name are edges', () => {
  const graph = importers(root, ['protocol/identity/kel.ts', 'hub/core/verifier.ts', 'cli/table/other.ts'])
  expect(graph.get('protocol/crypto/engine.node.ts')).toEqual(['protocol/identity/kel.ts'])
  expect(graph.get('hub/core/verify-worker.ts')).toEqual(['hub/core/verifier.ts'])
  expect(graph.get('cli/demo/demo.ts')).toEqual(['cli/table/other.ts'])
})

test('what the file of a thread imports runs in a thread', () => {
  const graph = importers(root, ['daemon/chain/signature-worker.ts', 'daemon/node.ts'])
  const [imported] = [...graph].find(([, by]) => by.includes('daemon/chain/signature-worker.ts')) ?? ['']
  expect([runsInThread(imported, graph), runsInThread('daemon/ground.ts', graph)]).toEqual([true, false])
})

test('every name of the package stands for a file that it can be', () => {
  const { imports } = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as {
    imports: Record<string, Record<string, string>>
  }
  for (const [name, files] of Object.entries(imports))
    expect(Object.values(files)).toContain(`./${fileNamed(name)}`)
})
