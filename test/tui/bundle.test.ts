/** Ink and React are read by `svc tui` alone. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'

const dist = new URL('../../dist/', import.meta.url).pathname
const start = readFileSync(join(dist, 'svc.js'), 'utf8')
const folder = join(dist, dirname(/build-[0-9a-f]+\/[\w.]+/.exec(start)?.[0] ?? ''))

/** A file of the build and all that it loads by itself. */
function loadedBy(file: string, known = new Set<string>()): Set<string> {
  if (known.has(file)) return known
  known.add(file)
  const text = readFileSync(join(folder, file), 'utf8')
  for (const [, name = ''] of text.matchAll(/(?:from|import)\s*"\.\/([\w.-]+\.js)"/g)) loadedBy(name, known)
  return known
}
const isInk = (file: string) => /yoga|react-reconciler/.test(readFileSync(join(folder, file), 'utf8'))

test.each(['main.js', 'whole.js'])('%s loads neither by itself', file => {
  expect([...loadedBy(file)].filter(isInk)).toEqual([])
})

test('both are in the build, in parts of their own', () => {
  const parts = readdirSync(folder).filter(file => file.endsWith('.js') && isInk(file))
  expect(parts.length).toBeGreaterThan(0)
})
