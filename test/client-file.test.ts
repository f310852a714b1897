// project: programs

/** The one file of the command line: every command that is marked for it finds its code there. */
import { execFile } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { commands } from '../cli/table.ts'

const program = new URL('../dist/svc.js', import.meta.url).pathname
const home = mkdtempSync(join(tmpdir(), 'svc-client-'))

function run(args: string[]): Promise<string> {
  const env = { PATH: process.env['PATH'], HOME: home, SVC_DATA_DIR: join(home, 'none') }
  return new Promise(resolve => {
    execFile(process.execPath, [program, ...args], { env }, (_, stdout, stderr) => resolve(stdout + stderr))
  })
}

const clients = commands.filter(row => row.client && row.path !== 'up')

test.each(['node', 'hub', 'work', 'other'] as const)('client commands of the group %s run', async group => {
  const rows = clients.filter(row => row.group === group)
  expect(rows.length).toBeGreaterThan(0)
  const said = await Promise.all(
    rows.map(({ path, positionals = [] }) =>
      run([...path.split(' '), ...positionals.filter(one => one.required).map(() => 'x')]),
    ),
  )
  for (const [i, text] of said.entries()) expect(text, rows[i]?.path).not.toMatch(/Cannot find|at file:/)
})

test('a command beyond them runs in the whole program, and its failure is one sentence there too', async () => {
  expect(await run(['verify'])).toBe(
    'svc: expected an interaction id, the folder or file of a proof, --proof, --receipt, --chain, --attestation or --page\ntry: svc help verify\n',
  )
})
