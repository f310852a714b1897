/** How much a hub brings along, and what it loads only when it is wanted. */
import { readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { expect, test } from 'vitest'
import { dependencyClosure } from '../testing/packed.ts'

const DIRECT_MAX = 12
const TOTAL_MAX = 40

test('a hub brings no more than a dozen direct and forty packages in all', () => {
  const { direct, all } = dependencyClosure()
  expect(direct.length).toBeGreaterThan(0)
  expect(direct.length).toBeLessThanOrEqual(DIRECT_MAX)
  expect(all.length).toBeGreaterThan(direct.length)
  expect(all.length).toBeLessThanOrEqual(TOTAL_MAX)
})

test('serving loads neither the figures nor the operator commands before they are wanted', () => {
  const root = new URL('../..', import.meta.url).pathname
  const seen = new Set<string>()
  const visit = (path: string): void => {
    if (seen.has(path)) return
    seen.add(path)
    if (!path.endsWith('.ts')) return
    const text = readFileSync(join(root, path), 'utf8')
    for (const [, specifier = ''] of text.matchAll(/^(?:import|export)\s(?!type\b)[^'"]*?'([^']+)'/gms))
      visit(specifier.startsWith('.') ? normalize(join(dirname(path), specifier)) : specifier)
  }
  visit('hub/cli/main.ts')
  const late = ['prom-client', 'hub/operator/metrics.ts', 'hub/operator/doctor.ts', 'hub/operator/backup.ts']
  expect([...seen].filter(path => late.includes(path))).toEqual([])
  expect(seen).toContain('hub/serve.ts')
})
