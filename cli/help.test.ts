/** Help, over the whole table: every command, however it is asked about, explains each argument and flag. */
import { describe, expect, test } from 'vitest'
import { callPaths, ID_FLAG } from './command.ts'
import { parse } from './dispatch.ts'
import { findCommand } from './flags.ts'
import { processIo } from './io.ts'
import { main } from './main.ts'
import { commands, groupAliases, groupDefaults } from './table.ts'

async function says(...argv: string[]): Promise<{ code: number; out: string; err: string }> {
  const out: string[] = []
  const err: string[] = []
  const io = { ...processIo(), out: (text: string) => out.push(text), err: (text: string) => err.push(text) }
  const code = await main(io, argv)
  return { code, out: out.join(''), err: err.join('') }
}

const paths = commands
  .flatMap(row => callPaths(row).map(path => [path, row] as const))
  .filter(([path, row]) => row.path !== 'help' && !path.startsWith('-'))

describe.each(paths)('%s', (path, row) => {
  const words = path.split(' ')

  test('is explained by help, by --help and by -h, in words and with an example', async () => {
    const asked = [
      await says('help', path),
      await says('help', ...words),
      await says(...words, '--help'),
      await says(...words, '-h'),
    ]
    for (const { code, out, err } of asked) {
      expect([code, err]).toEqual([0, ''])
      expect(out).toContain(`svc ${row.path}`)
      expect(out).toContain(`example: ${row.example}`)
    }
    const lines = asked[2]?.out.split('\n') ?? []
    for (const { name, says: text } of [...(row.positionals ?? []), ...(row.flags ?? []), ID_FLAG]) {
      expect(text.split(' ').length, name).toBeGreaterThan(1)
      expect(
        lines.some(line => line.includes(name) && line.includes(text)),
        name,
      ).toBe(true)
    }
  })

  test('its example is a line that it takes', () => {
    const line = row.example
      .replace(/^.*&& /, '')
      .replace(/ < .*$/, '')
      .replace(/"\$\(.*?\)"/, 'x')
    const [program, ...words] = line.match(/"[^"]*"|\S+/g) as string[]
    const found = findCommand(words)
    expect([program, found.row.path]).toEqual(['svc', row.path])
    expect(() => parse(found)).not.toThrow()
  })
})

test.each([...Object.keys(groupDefaults), ...Object.keys(groupAliases)])(
  'help of the group %s explains all its commands',
  async group => {
    const { out } = await says('help', group)
    const name = groupAliases[group] ?? group
    for (const row of commands.filter(one => one.path.startsWith(`${name} `)))
      expect(out).toContain(`svc ${row.path}`)
    expect((await says(group, '--help')).out).toBe(out)
  },
)

test('-h is never a task, and a text may follow --', async () => {
  expect((await says('delegate', 'bob', '-h')).out).toContain('svc delegate')
  expect(parse(findCommand(['delegate', 'bob', '--', '-h'])).positionals).toEqual(['bob', '-h'])
})

test('help of an unknown command names the nearest', async () => {
  for (const argv of [['help', 'statsu'], ['statsu', '--help'], ['statsu']])
    expect(await says(...argv)).toEqual({
      code: 1,
      out: '',
      err: 'svc: unknown command: statsu\ntry: svc status\n',
    })
})
