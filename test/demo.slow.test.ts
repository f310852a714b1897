/** Each step of the demo fails when its premise is spoiled: none of them is a step that can't fail. */
import { execFile, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { beforeAll, expect, test } from 'vitest'
import { federationSteps } from '../cli/demo/federation-steps.ts'
import { openSteps } from '../cli/demo/open-steps.ts'
import { paySteps } from '../cli/demo/pay-steps.ts'
import { processesSteps } from '../cli/demo/processes-steps.ts'
import { steps } from '../cli/demo/steps.ts'
import { letThrough, withoutPostgres } from '../hub/testing/postgres-server.ts'

const program = new URL('../dist/svc.js', import.meta.url).pathname
type Outcome = { ok: boolean; steps: { name: string; ok: boolean; detail: string }[] }

const spoiling = [
  ...steps.map(({ name }) => ({ name, flags: [] as string[] })),
  ...paySteps.map(({ name }) => ({ name, flags: ['--pay'] })),
  ...federationSteps.map(({ name }) => ({ name, flags: ['--hubs', '3'] })),
  ...openSteps.map(({ name }) => ({ name, flags: ['--wire', '1'] })),
  ...(withoutPostgres === undefined
    ? processesSteps.map(({ name }) => ({ name, flags: ['--processes', '3'] }))
    : []),
]

// a database's server runs as another user where this one is root
beforeAll(() => letThrough(tmpdir()))

test.each(spoiling)('the step $name ($flags) fails when its premise is spoiled', async ({ name, flags }) => {
  const { code, stdout } = await new Promise<{ code: number; stdout: string }>(resolve =>
    execFile(process.execPath, [program, 'demo', '--json', ...flags, `--break=${name}`], (error, stdout) =>
      resolve({ code: error === null ? 0 : Number(error.code), stdout }),
    ),
  )
  const outcome = JSON.parse(stdout) as Outcome
  expect(code).toBe(1)
  expect(outcome.ok).toBe(false)
  expect(outcome.steps.at(-1)).toMatchObject({ name, ok: false })
  expect(outcome.steps.slice(0, -1).every(step => step.ok)).toBe(true)
})

test('without --json it stays up, says how to look around, and Ctrl-C leaves nothing behind', async () => {
  const child = spawn(process.execPath, [program, 'demo'], { stdio: ['ignore', 'pipe', 'ignore'] })
  let text = ''
  child.stdout.setEncoding('utf8').on('data', chunk => {
    text += chunk
  })
  await expect.poll(() => text, { timeout: 60_000 }).toContain('Ctrl-C')
  const home = /DEMO=(\S+)/.exec(text)?.[1] ?? ''
  expect(existsSync(home)).toBe(true)
  const ended = new Promise(resolve => child.once('exit', resolve))
  child.kill('SIGINT')
  expect(await ended).toBe(0)
  expect(existsSync(home)).toBe(false)
})
