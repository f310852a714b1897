/** What the command line says of a program before a node hears of it. */
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runIn } from '../testing.ts'

test.each([
  ['set', 'node answer.mjs'],
  ['test', 'node --no-warnings "./answer.mjs"'],
  ['set', './answer.mjs'],
])(
  'autoreply %s --command %j names the whole path of a file that the program would not find',
  async (verb, command) => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-command-'))
    writeFileSync(join(folder, 'answer.mjs'), '')
    const { code, err } = await runIn(folder, ['autoreply', verb, '--command', command])
    expect(code).toBe(2)
    expect(err).toContain(
      `is a relative path, and the program runs in an empty folder of its own; write ${join(folder, 'answer.mjs')}`,
    )
  },
)

test('words that name no file here are left to the program', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-command-'))
  writeFileSync(join(folder, 'answer'), '')
  for (const command of ['node --version=1.2', 'tool answer', 'tool example.org', 'cat "'])
    expect((await runIn(folder, ['autoreply', 'set', '--command', command])).err).not.toContain('relative')
})
