/** What a shell offers behind svc-hub, asked in one that runs the printed script; and what a typing error is told. */
import { spawnSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import { main } from './main.ts'
import { commands } from './table.ts'

const has = (shell: string) => spawnSync(shell, ['-c', 'exit 0']).status === 0

async function run(...words: string[]) {
  const said = { out: '', err: '' }
  const code = await main(words, {
    out: text => {
      said.out += text
    },
    err: text => {
      said.err += text
    },
  })
  return { code, ...said }
}

/** What bash offers for each of these lines, whose last word is being written. */
async function offered(lines: readonly (readonly string[])[]): Promise<string[][]> {
  const { out } = await run('completion', 'bash')
  const asks = lines.map(words => {
    const list = ['svc-hub', ...words].map(word => `'${word}'`).join(' ')
    return `COMP_WORDS=(${list}); COMP_CWORD=${words.length}; _svc_hub; echo "\${COMPREPLY[*]}"`
  })
  const ran = spawnSync('bash', ['--norc', '-c', [out, ...asks].join('\n')], { encoding: 'utf8' })
  expect([ran.status, ran.stderr]).toEqual([0, ''])
  return ran.stdout
    .split('\n')
    .slice(0, -1)
    .map(line => line.split(' ').filter(word => word !== ''))
}

describe.skipIf(!has('bash'))('a shell offers behind svc-hub', () => {
  test('every command, and the flags of each and no other', async () => {
    const names = Object.keys(commands)
    expect(await offered([['']])).toEqual([names])
    const flags = Object.values(commands).map(command => command.flags.map(flag => `--${flag}`))
    expect(await offered(names.map(name => [name, '-']))).toEqual(flags)
  })

  test.each([
    [
      ['admission', ''],
      ['open', 'closed'],
    ],
    [['ranges', 'r'], ['refuse']],
    [['witness', 'a'], ['add']],
    [
      ['completion', ''],
      ['bash', 'zsh', 'fish'],
    ],
    [['help', 'dep'], []],
    [['help', 'doc'], ['doctor']],
  ])('behind %j the words that it takes', async (words, wanted) => {
    expect(await offered([words])).toEqual([wanted])
  })
})

test.skipIf(!has('fish'))('fish offers commands, words and flags', async () => {
  const { out } = await run('completion', 'fish')
  const ask = (line: string) => {
    const ran = spawnSync('fish', ['-N', '-c', `${out}\ncomplete -C '${line}'`], { encoding: 'utf8' })
    expect([ran.status, ran.stderr]).toEqual([0, ''])
    return ran.stdout.split('\n').map(row => row.split('\t')[0])
  }
  expect(ask('svc-hub doc')).toContain('doctor')
  expect(ask('svc-hub admission o')).toContain('open')
  expect(ask('svc-hub backup --ke')).toContain('--keep')
})

test.skipIf(!has('zsh'))('zsh reads its script', async () => {
  const { out } = await run('completion', 'zsh')
  expect(spawnSync('zsh', ['-n'], { input: out, encoding: 'utf8' })).toMatchObject({ status: 0, stderr: '' })
})

test('another shell is refused by the names of those that there are', async () => {
  for (const words of [['completion'], ['completion', 'constructor']]) {
    const { code, err } = await run(...words)
    expect([code, err]).toEqual([2, expect.stringContaining('expected bash, zsh or fish')])
  }
})

test.each([
  ['docter', 'doctor'],
  ['admision', 'admission'],
  ['sereve', 'serve'],
])('%s is told the nearest command, %s', async (typed, meant) => {
  for (const words of [[typed], ['help', typed]]) {
    const { code, err } = await run(...words)
    expect([code, err]).toEqual([2, `svc-hub: unknown command: ${typed}; perhaps: svc-hub ${meant}\n`])
  }
})

test('nobody is led to what cannot be undone', async () => {
  for (const typed of ['remov', 'restor', 'rotat'])
    expect((await run(typed)).err).toMatch(
      /^svc-hub: unknown command: \w+; (?!.*perhaps: svc-hub (?:remove|restore|rotate)\b)/,
    )
})
