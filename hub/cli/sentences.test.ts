/** Bad input of every command of svc-hub, generated from its table: the refusal is a sentence of ours. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { main } from './main.ts'
import { commands, flagTable } from './table.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-hub-sentences-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const FOREIGN =
  /\bE[A-Z]{3,}\b|Invalid (input|string|option)|Too (small|big)|Unrecognized|received|undefined|\bNaN\b|\[object|syscall|Error:|\bat .*\.[jt]s:\d/
const bad = ['', ' ', '-1', '1.5', 'x'.repeat(3000), '/no/such/file', '{', 'ünïcode', '192.0.2.0/99']
/** They would start something, or make a hub. */
const MAKING = ['serve', 'init', 'doctor', 'version', 'help']

async function run(argv: string[]): Promise<{ code: number; err: string }> {
  let err = ''
  const code = await main(argv, {
    out: () => undefined,
    err: text => {
      err += text
    },
  })
  return { code, err }
}

describe('bad input is refused in plain words by', () => {
  test.each(Object.entries(commands).filter(([name]) => !MAKING.includes(name)))(
    '%s',
    async (name, command) => {
      const place = ['--data-dir', join(folder, 'none')]
      const lines = [
        [name, '--no-such-flag'],
        [name, 'one', 'two', 'three'],
        ...bad.map(value => [name, value, ...place]),
        ...bad.map(value => [name, 'show', value, ...place]),
        ...command.flags
          .filter(flag => flag !== 'data-dir')
          .flatMap(flag => bad.map(value => [name, 'x', `--${flag}`, value, ...place])),
      ]
      for (const line of lines) {
        const { code, err } = await run(line)
        expect([line, code]).not.toEqual([line, 0])
        expect([line, err]).toEqual([line, expect.stringMatching(/^svc-hub: \S/)])
        expect([line, err]).toEqual([line, expect.not.stringMatching(FOREIGN)])
      }
    },
  )

  test.each(['serve', 'doctor'])('%s', async name => {
    const flags = commands[name]?.flags.filter(flag => flagTable[flag]?.value !== undefined) ?? []
    expect(flags.length).toBeGreaterThan(0)
    for (const flag of flags) {
      const { code, err } = await run([name, `--${flag}`])
      expect([flag, code, err]).toEqual([flag, 2, expect.stringContaining(`--${flag} expects a value`)])
    }
  })
})
