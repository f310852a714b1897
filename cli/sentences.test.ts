// project: programs

/** Bad input of every command, generated from the table: the refusal is a sentence of ours, never one of a library. */
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { commands } from './table.ts'
import { runIn, shellFault } from './testing.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-sentences-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const FOREIGN =
  /\b(?!EVENT\b)E[A-Z]{3,}\b|Invalid (input|string|option)|Too (small|big)|Unrecognized|received|undefined|\bNaN\b|\[object|syscall|no such file or directory, open|Unknown Syntax|Error:|\bat .*\.[jt]s:\d/
/** What helps: on a line of its own, or behind the semicolon of the sentence. */
const NEXT = /\n(?:try|next): \S|; \S/
/** Commands that would start something, or wait for somebody. */
const RUNNING = ['daemon', 'up', 'id new', 'demo', 'mcp']
const bad = ['', ' ', '-1', '1.5', 'x'.repeat(3000), '@/no/such/file', '/no/such/file', '{', 'ünïcode', '--']

const run = (argv: string[]) => runIn(folder, argv)
/** Every command that a refusal told to try. */
const tried = new Set<string>()

describe('bad input is refused in plain words by', () => {
  test.each(commands.filter(row => !RUNNING.includes(row.path)).map(row => [row.path, row] as const))(
    '%s',
    async (path, row) => {
      const words = path.split(' ')
      const positionals = (row.positionals ?? []).map(() => 'x')
      const lines = [
        [...words, '--no-such-flag'],
        [...words, ...positionals, 'one', 'too', 'many'],
        ...bad.map(value => [...words, ...positionals.map(() => value)]),
        ...(row.flags ?? []).flatMap(flag => bad.map(value => [...words, ...positionals, flag.name, value])),
      ]
      for (const line of lines) {
        const { code, err } = await run(line)
        if (code === 0) continue
        expect([line, err]).toEqual([line, expect.stringMatching(/^svc: \S/)])
        expect([line, err]).toEqual([line, expect.not.stringMatching(FOREIGN)])
        expect([line, err]).toEqual([line, expect.stringMatching(NEXT)])
        for (const [, command] of err.matchAll(/^try: (.*)$/gm)) tried.add(command as string)
      }
    },
  )
})

test('what a refusal tells to try can be run as it stands', () => {
  expect(tried.size).toBeGreaterThan(20)
  for (const command of tried) expect(shellFault(command)).toBe('')
})

test.each(['status', 'stop', 'logs', 'id ls', 'id next export', 'find', 'doctor', 'evidence import', 'up'])(
  'a home that lies below a file is named, with what to do, by %s',
  async command => {
    const file = join(folder, 'a-file')
    writeFileSync(file, '')
    const { code, out, err } = await runIn(folder, command.split(' '), { SVC_HOME: join(file, 'home') })
    expect([code, out]).toEqual([1, ''])
    expect(err).toBe(
      `svc: the home ${file}/home cannot be read: part of the path is not a folder; mend that, or choose another folder with SVC_HOME\n`,
    )
  },
)

test.each(['up', 'daemon', 'doctor', 'id next export'])(
  'a data directory that is a link to nowhere is said to be one by %s',
  async command => {
    const [link, nowhere] = [join(folder, 'dangling'), join(folder, 'no', 'where')]
    rmSync(link, { force: true })
    symlinkSync(nowhere, link)
    const { code, out, err } = await runIn(folder, command.split(' '), { SVC_DATA_DIR: link })
    expect([code, `${out}${err}`]).toEqual([
      1,
      expect.stringContaining(`${link} is a link to ${nowhere}, which does not exist`),
    ])
  },
)
