// project: programs

/** Every sentence of the sources that names a command: it can be copied whole, and stands in one form for every reader. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseSync, Visitor } from 'oxc-parser'
import { describe, expect, test } from 'vitest'
import { calledFor } from '../cli/as-called.ts'
import { callPaths } from '../cli/command.ts'
import { findCommand } from '../cli/flags.ts'
import type { Io } from '../cli/io.ts'
import { parse } from '../cli/parse.ts'
import { commands, groupDefaults } from '../cli/table.ts'
import { shellFault } from '../cli/testing.ts'
import { commandNames } from '../hub/terminal.ts'
import { isCommandLine, withCommands } from '../protocol/shell.ts'

const root = new URL('..', import.meta.url).pathname
/** Descriptions of commands and completions are read beside the command, not copied. */
const NOT_HINTS = /\.test\.ts$|\/testing|\/test\/|^cli\/(?:table|demo|commands\/completion)/
const paths = {
  svc: [...commands.flatMap(row => callPaths(row)), ...Object.keys(groupDefaults)],
  'svc-hub': [...commandNames],
}
type Program = keyof typeof paths

const sources = execFileSync('git', ['ls-files', 'cli', 'daemon', 'hub', 'mcp', 'protocol', 'autoreply'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter(path => path.endsWith('.ts') && !NOT_HINTS.test(path))

/** The texts of a source; what is filled in stands as `<…>`. */
function textsOf(path: string): string[] {
  const found: string[] = []
  const visitor = new Visitor({
    TemplateLiteral: ({ quasis }) => void found.push(quasis.map(({ value }) => value.cooked).join('<…>')),
    Literal: ({ value }) => void (typeof value === 'string' && found.push(value)),
  })
  visitor.visit(parseSync(path, readFileSync(join(root, path), 'utf8')).program)
  return found
}

/** A command with its flags and values, and the character behind it. */
const named = (program: Program) =>
  new RegExp(
    `(?<![\\w./-])${program} (?:--id <…> )?(?:${paths[program].sort((a, b) => b.length - a.length).join('|')})(?![\\w-])(?: (?:<[^>]*>|\\{\\w+\\}|"[^"]*"|'[^']*'|--?[a-z-]+|…|[A-Z]+))*(.?)`,
    'g',
  )

const hints = sources.flatMap(path =>
  textsOf(path)
    .filter(text => [...text.matchAll(named('svc')), ...text.matchAll(named('svc-hub'))].length > 0)
    .map(text => ({ path, text })),
)

test('sentences that name a command are found', () => {
  expect(hints.length).toBeGreaterThan(150)
})

/** The words of a line as a shell hands them over, without its redirections. */
const argvOf = (line: string): string[] =>
  line
    .replace(/ < \S+$/, '')
    .match(/'[^']*'|"[^"]*"|\S+/g)
    ?.slice(1)
    .map(word => word.replace(/^(['"])(.*)\1$/, '$2')) ?? []

/** Words of ours that are read beside a command or begin with the program's name, and are no next step. */
const lines = hints.flatMap(({ path, text }) =>
  text
    .split('\n')
    .filter(isCommandLine)
    .map(line => ({ path, line })),
)

describe('a line that is told to be tried', () => {
  test('is one of many', () => {
    expect(lines.length).toBeGreaterThan(60)
  })

  test.each(lines)('$path: $line', ({ line }) => {
    expect(shellFault(line)).toBe('')
    const called = line.replace(/^(?:\w+=\S+ )+/, '').split(' && ')
    for (const one of called.filter(given => given.startsWith('svc ')))
      expect(() => parse(findCommand(argvOf(one)))).not.toThrow()
  })
})

describe('a command in a sentence', () => {
  test('can be copied whole: no punctuation is joined to its end', () => {
    const joined = hints.flatMap(({ path, text }) =>
      (['svc', 'svc-hub'] as const).flatMap(program =>
        [...text.matchAll(named(program))]
          .filter(([, next = '']) => /[,;:.]/.test(next))
          .map(([command]) => `${path}: ${command}`),
      ),
    )
    expect(joined).toEqual([])
  })

  test.each(['svc', 'npx svc', '/opt/svc/bin/svc.js', "node '/a folder/svc.js'"])(
    'stands as %s, also where it is rewritten once more',
    program => {
      for (const id of [undefined, 'bob']) {
        const { asCalled } = calledFor({ program } as Io, id)
        const asHub = (text: string) =>
          withCommands(text, 'svc-hub', ({ words }) =>
            commandNames.some(name => name === words[0])
              ? program.replace(/svc(?=\.js|$)/, 'svc-hub')
              : undefined,
          )
        for (const { text } of hints) {
          expect(asCalled(asCalled(text))).toBe(asCalled(text))
          expect(asHub(asHub(text))).toBe(asHub(text))
        }
      }
    },
  )
})
