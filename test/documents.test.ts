/** What the documents say is there is there. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { SUPPORTED_PROTOCOL_VERSIONS } from '@modelcontextprotocol/server'
import { expect, test } from 'vitest'
import { GLOBAL_FLAGS } from '../cli/command.ts'
import { findCommand } from '../cli/flags.ts'
import { commands as hubCommands } from '../hub/cli/table.ts'

const root = new URL('..', import.meta.url).pathname
const documents = [
  'README.md',
  ...readdirSync(join(root, 'docs'), { recursive: true }).map(path => `docs/${path}`),
]
  .filter(path => path.endsWith('.md'))
  .map(path => ({ path, text: readFileSync(join(root, path), 'utf8') }))

test.each(documents)('every link of $path leads somewhere', ({ path, text }) => {
  const links = [...text.matchAll(/\]\((?!https?:|#|mailto:)([^)#]+)/g)].map(([, link = '']) => link)
  expect(links.filter(link => !existsSync(join(root, dirname(path), link)))).toEqual([])
})

/** Headings as links name them: in small letters, a hyphen for each space, no punctuation. */
function headingsOf(path: string): string[] {
  const text = readFileSync(join(root, path), 'utf8').replace(/```[\s\S]*?```/g, '')
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  )
}

test.each(documents)('every heading that a link of $path names is there', ({ path, text }) => {
  const links = [...text.matchAll(/\]\((?!https?:)([^)#]*\.md)?#([^)]+)\)/g)]
  const lost = links.filter(
    ([, page, heading = '']) =>
      !headingsOf(page === undefined ? path : join(dirname(path), page)).includes(heading),
  )
  expect(lost.map(([link]) => link)).toEqual([])
})

const guides = ['CONTRIBUTING.md', 'README.md', 'docs/architecture.md']

test.each(guides)('every file and folder of this tree that %s names is there', path => {
  const top = readdirSync(root).join('|')
  const named = [...readFileSync(join(root, path), 'utf8').matchAll(/`([\w.-]+\/[\w./-]*)`/g)]
    .map(([, place = '']) => place)
    .filter(place => new RegExp(`^(?:${top})/`).test(place) && !/(?:^|\/)dist\/|[vV]N|wireN/.test(place))
  expect(named.filter(place => !existsSync(join(root, place)))).toEqual([])
})

/** Commands as the documents write them, in code spans and blocks: the program and the words behind it. */
function commandsIn(text: string): { program: 'svc' | 'svc-hub'; words: string[] }[] {
  const code = [...text.matchAll(/```[\s\S]*?```|`[^`\n]+`/g)].map(([span]) => span)
  return code.flatMap(span =>
    [...span.matchAll(/(?:^|[`\n(]|npx |: +|&& )(svc-hub|svc) ([a-z][^`\n#]*)/g)].map(
      ([, program, words = '']) => ({
        program: program as 'svc' | 'svc-hub',
        words: words.trim().split(/\s+/),
      }),
    ),
  )
}

const hubDocuments = ['hub/README.md', 'hub/deploy/svc-hub.service', 'hub/deploy/Containerfile'].map(
  path => ({
    path,
    text: path.endsWith('.md')
      ? readFileSync(join(root, path), 'utf8')
      : readFileSync(join(root, path), 'utf8').replace(/^(.*svc-hub .*)$/gm, '`$1`'),
  }),
)
const instructive = [...documents, ...hubDocuments].filter(({ text }) => commandsIn(text).length > 0)

test.each(instructive)('every command that $path names is one', ({ text }) => {
  for (const { program, words } of commandsIn(text)) {
    const line = `${program} ${words.join(' ')}`
    if (program === 'svc-hub')
      expect([line, Object.hasOwn(hubCommands, words[0] ?? '')]).toEqual([line, true])
    else expect([line, nameOf(words)]).toEqual([line, expect.any(String)])
  }
})

function nameOf(words: string[]): string | undefined {
  try {
    return findCommand(words).row.path
  } catch {
    return undefined
  }
}

test.each(instructive)('every flag that $path gives a command of svc is one of it', ({ text }) => {
  const unknown = commandsIn(text)
    .filter(({ program, words }) => program === 'svc' && nameOf(words) !== undefined)
    .flatMap(({ words }) => unknownFlags(words).map(flag => `${flag} in ${words.join(' ')}`))
  expect(unknown).toEqual([])
})

/** Those before the next command of the line, outside of quotes. */
function unknownFlags(line: readonly string[]): string[] {
  const words = line
    .join(' ')
    .replaceAll(/'[^']*'|"[^"]*"/g, 'TEXT')
    .split(' ')
  const end = words.findIndex(word => /^(?:&&|\||;|--)$/.test(word))
  const own = end < 0 ? words : words.slice(0, end)
  const { row } = findCommand(own)
  const known: string[] = [...(row.flags ?? []), ...GLOBAL_FLAGS].map(({ name }) => name)
  const named = own.filter(word => /^--[a-z]/.test(word)).map(word => word.replace(/[^a-z0-9-].*$/, ''))
  return named.filter(flag => !known.includes(flag))
}

test('the documents name commands in many places', () => {
  expect(instructive.flatMap(({ text }) => commandsIn(text)).length).toBeGreaterThan(60)
})

test('docs/mcp.md names every version of the protocol that the server speaks', () => {
  const text = readFileSync(join(root, 'docs/mcp.md'), 'utf8')
  expect([...SUPPORTED_PROTOCOL_VERSIONS, '2026-07-28'].filter(version => !text.includes(version))).toEqual(
    [],
  )
})
