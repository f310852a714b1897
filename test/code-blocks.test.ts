/** Blocks of code in the documents: each says what it is, and a block of commands has commands only. */
import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { marked, type Tokens } from 'marked'
import { expect, test } from 'vitest'
import { findCommand } from '../cli/flags.ts'
import { commands as hubCommands } from '../hub/cli/table.ts'
import { readDocuments } from '../scripts/site/documents.ts'

const root = new URL('..', import.meta.url).pathname
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  scripts: Record<string, string>
}

type Block = { path: string; language: string; text: string }

/** Every block of every document, also those within lists. */
const blocks: Block[] = [...readDocuments(root).all.values()].flatMap(({ path, tokens }) => {
  const found: Block[] = []
  void marked.walkTokens([...tokens], token => {
    if (token.type !== 'code') return
    const { lang, text } = token as Tokens.Code
    found.push({ path, language: lang ?? '', text })
  })
  return found
})

/** `text` is output, a file or a sketch; nobody types it into a shell. */
const LANGUAGES = ['sh', 'js', 'json', 'jsonl', 'nginx', 'text']

/** Programs of others that a block of commands may call. */
const TOOLS = new Set(
  'apt-get cd chmod claude cp createdb createuser curl echo export git grep install journalctl mv nft node npm pg_basebackup pg_ctlcluster pg_verifybackup psql python3 runuser sed source ss ssh systemctl useradd'.split(
    ' ',
  ),
)

test('every block of code says what it is', () => {
  expect(blocks.length).toBeGreaterThan(100)
  expect(blocks.filter(({ language }) => !LANGUAGES.includes(language))).toEqual([])
})

test.each(blocks.filter(({ language }) => language === 'json'))(
  'a block of JSON in $path is JSON',
  ({ text }) => {
    // an ellipsis stands for members that are left out; a block may show some members alone
    const whole = /^\s*[{[]/.test(text) ? text : `{${text}}`
    if (!text.includes('…')) expect(() => JSON.parse(whole)).not.toThrow()
  },
)

/** The commands of a block: one a line, without remarks, with lines that go on joined, `&&` taken apart. */
const commandsOf = (text: string): string[] =>
  text
    .replaceAll('\\\n', ' ')
    .split('\n')
    .map(line => line.replace(/(?:^|\s+)# ?.*$/, '').trim())
    .flatMap(line => line.split(/\s+&&\s+/))
    .filter(line => line !== '')

/** Why a line is no command that the documents may show; undefined where it is one. */
function faultOf(line: string): string | undefined {
  const words = line.replace(/^(?:[A-Z][A-Z_0-9]*=\S+ )+/, '').split(/\s+/)
  const [program = '', ...rest] = words[0] === 'npx' ? words.slice(1) : words
  if (program === 'runuser') return faultOf(line.slice(line.indexOf(' -- ') + 4))
  if (program === 'svc-hub')
    return Object.hasOwn(hubCommands, rest[0] ?? '') ? undefined : 'no command of svc-hub'
  if (program === 'svc') return isCommand(rest) ? undefined : 'no command of svc'
  if (program === 'npm' && rest[0] === 'run') {
    const name = rest.find((word, i) => i > 0 && !word.startsWith('-')) ?? ''
    return Object.hasOwn(scripts, name) ? undefined : 'no script of package.json'
  }
  return TOOLS.has(basename(program)) ? undefined : 'no known program'
}

function isCommand(words: string[]): boolean {
  const named = words[0] === '--id' ? words.slice(2) : words
  try {
    return findCommand(named).row.path !== ''
  } catch {
    return false
  }
}

test.each(blocks.filter(({ language }) => language === 'sh'))(
  'a block of commands in $path has commands only',
  ({ text }) => {
    const faults = commandsOf(text).flatMap(line => {
      const fault = faultOf(line)
      return fault === undefined ? [] : [`${fault}: ${line}`]
    })
    expect(faults).toEqual([])
  },
)

test.each([
  ['svc frobnicate', 'no command of svc'],
  ['svc-hub frobnicate', 'no command of svc-hub'],
  ['npm run frobnicate', 'no script of package.json'],
  ['{"ok":true}', 'no known program'],
  ['ok    store: hub.db is intact', 'no known program'],
])('%s would be found: %s', (line, fault) => {
  expect(faultOf(line)).toBe(fault)
})
