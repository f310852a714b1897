/** Bad input of every command, generated from the table: the refusal is a sentence of ours, never one of a library. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import type { Io } from './io.ts'
import { main } from './main.ts'
import { commands } from './table.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-sentences-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const FOREIGN =
  /\b(?!EVENT\b)E[A-Z]{3,}\b|Invalid (input|string|option)|Too (small|big)|Unrecognized|received|undefined|\bNaN\b|\[object|syscall|no such file or directory, open|Unknown Syntax|Error:|\bat .*\.[jt]s:\d/
/** Commands that would start something, or wait for somebody. */
const RUNNING = ['daemon', 'up', 'id new', 'demo', 'mcp']
const bad = ['', ' ', '-1', '1.5', 'x'.repeat(3000), '@/no/such/file', '/no/such/file', '{', 'ünïcode', '--']

async function run(argv: string[]): Promise<{ code: number; out: string; err: string }> {
  const said = { out: '', err: '' }
  const io: Io = {
    env: { HOME: folder, SVC_HOME: folder, SVC_RUNTIME_DIR: join(folder, 'run') },
    cwd: folder,
    now: Date.now,
    stdin: (async function* () {})() as never,
    out: text => {
      said.out += text
    },
    output: { taken: async () => undefined, lost: new AbortController().signal, isNull: false },
    err: text => {
      said.err += text
    },
    hints: false,
  }
  return { code: await main(io, argv), ...said }
}

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
      }
    },
  )
})
