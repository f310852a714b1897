/** Exit codes, over the whole table: a command line that is refused is 2, whatever is wrong with it. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import type { CommandRow, Flag } from './command.ts'
import { commands } from './table.ts'
import { runIn } from './testing.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-exit-codes-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const NUMBERS = ['N', 'SECONDS', 'TURNS', 'SEQ']
/** A value that the flag can't have, where every such flag refuses it. */
function wrongValue({ value, values }: Flag): string | undefined {
  if (values !== undefined) return 'none-of-them'
  if (value === 'true|false') return 'perhaps'
  if (value === 'JSON') return '{'
  return NUMBERS.includes(value ?? '') ? 'many' : undefined
}

const required = (row: CommandRow) =>
  (row.positionals ?? []).filter(one => one.required).map(({ values }) => values?.[0] ?? 'x')
/** Positionals that are checked before the flags. */
const fitting: Record<string, string[]> = { accept: ['on'], review: ['x', '5'], visibility: ['public'] }

function refusedLines(row: CommandRow): string[][] {
  const line = [...row.path.split(' '), ...(fitting[row.path] ?? required(row))]
  const isOpen = row.positionals?.at(-1)?.repeat === true
  const extra = (row.positionals ?? []).map(() => 'x')
  const bare = row.path.split(' ')
  return [
    [...line, '--no-such-flag'],
    ...(isOpen ? [] : [[...bare, ...extra, 'one', 'more']]),
    ...(required(row).length === 0 ? [] : [bare]),
    ...(row.flags ?? []).flatMap(flag => linesOf(line, flag)),
  ]
}

function linesOf(line: readonly string[], flag: Flag): string[][] {
  const wrong = wrongValue(flag)
  const given = flag.value === undefined ? [flag.name] : [flag.name, 'x']
  return [
    [...line, flag.value === undefined ? `${flag.name}=x` : flag.name],
    ...(flag.repeat ? [] : [[...line, ...given, ...given]]),
    ...(wrong === undefined ? [] : [[...line, flag.name, wrong]]),
  ]
}

/** By 2 of a hook an agent would be held up. */
const refusedCode = (row: CommandRow): number => (row.path.startsWith('hook ') ? 1 : 2)

describe('a refused command line is exit code 2, of a hook 1, before anything is done, of', () => {
  test.each(commands.map(row => [row.path, row] as const))('%s', async (_, row) => {
    for (const line of refusedLines(row)) {
      const { code, out, err } = await runIn(folder, line)
      expect([line, code, out, err]).toEqual([line, refusedCode(row), '', expect.stringMatching(/^svc: \S/)])
    }
  })
})

test.each([
  [['no-such-command'], 2],
  [['--no-such-flag'], 2],
  [['review', 'x', '6'], 2],
  [['accept', 'perhaps'], 2],
  [['logs', 'many'], 2],
  [['profile', 'set'], 2],
  [['delegate', 'bob'], 2],
  [['verify'], 2],
  [['install', 'no-such-tool'], 2],
  [['install', 'claude', '--allow-send'], 2],
  [['demo', '--break'], 2],
  [['status'], 1],
  [['stop'], 0],
  [['stop', 'nobody'], 1],
  [['id', 'rm', 'nobody'], 1],
  [['verify', 'x'], 1],
  [['version'], 0],
])('%j ends with %i', async (argv, code) => {
  expect([argv, (await runIn(folder, argv)).code]).toEqual([argv, code])
})

test('the codes stand in a table of docs/node.md', () => {
  const page = readFileSync(new URL('../docs/node.md', import.meta.url), 'utf8')
  const [, table = ''] = page.split('| Exit code | When |\n|---|---|\n')
  expect(table.split('\n\n')[0]?.match(/^\| \d/gm)).toEqual(['| 0', '| 1', '| 2'])
})

test('a flag of a few values names them, also where its value is missing', async () => {
  const names = /expected hub, alice, bob, .* or promoted\b/
  for (const argv of [
    ['demo', '--break'],
    ['demo', '--break', 'x'],
  ])
    expect((await runIn(folder, argv)).err).toMatch(names)
  expect((await runIn(folder, ['autoreply', 'set', '--tools'])).err).toContain(
    'missing value: --tools <none|read|write>; expected none, read or write',
  )
})
