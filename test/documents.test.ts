/** What the documents say is there is there. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'

const root = new URL('..', import.meta.url).pathname
const documents = [
  'README.md',
  ...readdirSync(join(root, 'docs'), { recursive: true }).map(path => `docs/${path}`),
]
  .filter(path => path.endsWith('.md'))
  .map(path => ({ path, text: readFileSync(join(root, path), 'utf8') }))
const security = readFileSync(join(root, 'docs/security.md'), 'utf8')

/** Claims name their tests as a file followed by words of names: `file`: *words* · *words*. */
const held = [
  ...security.matchAll(/`([\w/.-]+[.-](?:tests?\.ts|scan\.ts|limits\.ts|json))`: ((?:\*[^*]+\*(?: · )?)+)/g),
].flatMap(([, file = '', names = '']) =>
  [...names.matchAll(/\*([^*]+)\*/g)].map(([, words = '']) => ({ file, words })),
)

test.each(held)('the claim held by $file: $words', ({ file, words }) => {
  expect(readFileSync(join(root, file), 'utf8')).toContain(words)
})

test('the threat model names a test for most of what it claims', () => {
  expect(held.length).toBeGreaterThan(35)
})

test.each(documents)('every link of $path leads somewhere', ({ path, text }) => {
  const links = [...text.matchAll(/\]\((?!https?:|#|mailto:)([^)#]+)/g)].map(([, link = '']) => link)
  expect(links.filter(link => !existsSync(join(root, dirname(path), link)))).toEqual([])
})
