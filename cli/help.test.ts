/** Help, over the whole table: every command, however it is asked about, explains each argument and flag. */
import { describe, expect, test } from 'vitest'
import { callPaths, ID_FLAG } from './command.ts'
import { findCommand } from './flags.ts'
import { processIo } from './io.ts'
import { main } from './main.ts'
import { parse } from './parse.ts'
import { commands, groupAliases, groupDefaults } from './table.ts'

const says = (...argv: string[]) => saysAt(80, ...argv)

async function saysAt(
  columns: number,
  ...argv: string[]
): Promise<{ code: number; out: string; err: string }> {
  const out: string[] = []
  const err: string[] = []
  const io = {
    ...processIo(),
    program: 'svc',
    columns,
    out: (text: string) => out.push(text),
    err: (text: string) => err.push(text),
  }
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
      await says('-h', ...words),
      await says('--help', ...words, 'x'),
    ]
    for (const { code, out, err } of asked) {
      expect([code, err]).toEqual([0, ''])
      expect(out).toContain(`svc ${row.path}`)
      expect(out).toContain(`example: ${row.example}`)
    }
    const said = (asked[2]?.out ?? '').replace(/\s+/g, ' ')
    for (const one of [...(row.positionals ?? []), ...(row.flags ?? []), ID_FLAG]) {
      const { name, says: text } = one
      expect(text.split(' ').length, name).toBeGreaterThan(1)
      const value = 'value' in one && one.value !== undefined ? ` <${one.value}>` : ''
      const heads = [`${name}${value}`, `[${name}]`, `<${name}>`].map(head => `${head} ${text}`)
      expect([said, heads.filter(line => said.includes(line)).length]).toEqual([said, 1])
    }
  })

  test.each([80, 60])('its help fits a terminal of %i columns, but for a line to copy', async columns => {
    const { out } = await saysAt(columns, 'help', path)
    const wide = out.split('\n').filter(line => line.length > columns && !line.includes('example: '))
    expect(wide).toEqual([])
    // npx before it may make it longer
    const examples = out.split('\n').filter(line => line.includes('example: '))
    if (columns === 80) expect(examples.filter(line => line.length > 80 - 'npx '.length)).toEqual([])
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

test.each([
  [80, 80],
  [100, 100],
  [60, 60],
])('the overview is wrapped to %i columns', async (columns, max) => {
  for (const argv of [['help'], ['help', '--all']]) {
    const { out } = await saysAt(columns, ...argv)
    const lines = out.split('\n').filter(line => !line.includes('example: '))
    expect(Math.max(...lines.map(line => line.length))).toBeLessThanOrEqual(max)
    expect(lines.length).toBeGreaterThan(60)
  }
})

test('-h is never a task, and a text may follow --', async () => {
  expect((await says('delegate', 'bob', '-h')).out).toContain('svc delegate')
  expect(parse(findCommand(['delegate', 'bob', '--', '-h'])).positionals).toEqual(['bob', '-h'])
})

test('help of an unknown command names the nearest', async () => {
  for (const argv of [['help', 'statsu'], ['statsu', '--help'], ['statsu']])
    expect(await says(...argv)).toEqual({
      code: 2,
      out: '',
      err: 'svc: unknown command: statsu\ntry: svc status\n',
    })
})
