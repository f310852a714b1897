/** Completion, asked in a shell that runs the printed script; over the whole table of commands. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { callPaths, GLOBAL_FLAGS } from '../command.ts'
import { commands } from '../table.ts'
import { runIn } from '../testing.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-completion-'))
const has = (shell: string) => spawnSync(shell, ['-c', 'exit 0']).status === 0
const script: Record<string, string> = {}

beforeAll(async () => {
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { code, out } = await runIn(folder, ['completion', shell])
    expect(code).toBe(0)
    script[shell] = out
  }
  writeFileSync(join(folder, 'a-file.json'), '')
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** What bash offers for each of these lines, whose last word is being written. */
function offered(lines: readonly (readonly string[])[]): string[][] {
  const asks = lines.map(words => {
    const list = ['svc', ...words].map(word => `'${word}'`).join(' ')
    return `COMP_WORDS=(${list}); COMP_CWORD=${words.length}; _svc; echo "\${COMPREPLY[*]}"`
  })
  const ran = spawnSync('bash', ['--norc', '-c', [script['bash'], ...asks].join('\n')], {
    cwd: folder,
    encoding: 'utf8',
  })
  expect([ran.status, ran.stderr]).toEqual([0, ''])
  return ran.stdout
    .split('\n')
    .slice(0, -1)
    .map(line => line.split(' ').filter(word => word !== ''))
}

describe.skipIf(!has('bash'))('in bash', () => {
  test('every word of every command, its aliases too, is offered behind those before it', () => {
    const paths = commands.flatMap(callPaths).filter(path => !path.startsWith('-'))
    const lines = paths.flatMap(path => {
      const words = path.split(' ')
      return words.map((word, n) => [...words.slice(0, n), word.slice(0, 2)])
    })
    const wanted = paths.flatMap(path => path.split(' '))
    for (const [n, words] of offered(lines).entries())
      expect([lines[n], words]).toEqual([lines[n], expect.arrayContaining([wanted[n]])])
  })

  test('every flag of every command is offered, and no other', () => {
    const lines = commands.map(row => [...row.path.split(' '), '-'])
    const wanted = commands.map(row =>
      [...(row.flags ?? []), ...GLOBAL_FLAGS].flatMap(({ name, short }) => (short ? [short, name] : [name])),
    )
    expect(offered(lines)).toEqual(wanted)
  })

  test.each([
    [
      ['autoreply', 'set', '--tools', ''],
      ['none', 'read', 'write'],
    ],
    [['autoreply', 'set', '--strangers', 't'], ['true']],
    [
      ['visibility', ''],
      ['hub-local', 'federated', 'public'],
    ],
    [['completion', 'z'], ['zsh']],
    [['verify', '--result', 'a-'], ['a-file.json']],
    [
      ['--id', 'work', 'id', 'n'],
      ['new', 'next'],
    ],
    [
      ['id', '--id', 'ls', 'next', ''],
      ['export', 'import'],
    ],
    [['message', 'x', 'id', ''], []],
    [['no-such-command', 'id', '--no'], []],
  ])('%j offers %j', (line, words) => {
    expect(offered([line])).toEqual([words])
  })
})

test.skipIf(!has('zsh'))('zsh takes the script', () => {
  const ran = spawnSync('zsh', ['-f', '-c', `${script['zsh']}\n_svc_words id`], { encoding: 'utf8' })
  expect([ran.status, ran.stdout]).toEqual([0, expect.stringContaining('rotate')])
})

test.skipIf(!has('fish'))('fish offers the commands', () => {
  const ran = spawnSync('fish', ['-N', '-c', `${script['fish']}\ncomplete -C 'svc id ro'`], {
    encoding: 'utf8',
  })
  expect([ran.status, ran.stdout]).toEqual([0, expect.stringContaining('rotate')])
})

test('each shell gets a script of its own, and another one is refused by name', async () => {
  expect(new Set(Object.values(script)).size).toBe(3)
  const { code, err } = await runIn(folder, ['completion', 'tcsh'])
  expect([code, err]).toEqual([2, expect.stringContaining('expected bash, zsh or fish, got "tcsh"')])
})
