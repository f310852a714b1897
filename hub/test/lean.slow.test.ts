/** The packed hub on its own: an empty folder, its packages and a runtime. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, onTestFinished, test } from 'vitest'
import { installPacked } from '../testing/packed.ts'

test('the packed hub serves from an empty folder with its own packages only, and can be watched', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-hub-packed-'))
  const program = installPacked(folder)
  const cwd = join(folder, 'empty')
  mkdirSync(cwd)
  const { HOME = folder } = process.env
  const child = spawn(
    process.execPath,
    [program, 'serve', '--listen', '127.0.0.1:0', '--operator-listen', '127.0.0.1:0'],
    { cwd, env: { HOME, PATH: '/usr/bin:/bin' }, stdio: ['ignore', 'pipe', 'inherit'] },
  )
  const exited = once(child, 'exit')
  onTestFinished(() => void child.kill('SIGKILL'))
  const lines: string[] = []
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line)
    if (line.startsWith('admission is closed')) break
  }
  const text = lines.join('\n')
  const url = /serves wire 3 at (\S+)/.exec(text)?.[1]
  const operatorUrl = /metrics and health at (\S+)/.exec(text)?.[1]
  expect(await (await fetch(`${url}/healthz`)).json()).toMatchObject({ status: 'ok' })
  expect((await fetch(`${operatorUrl}/readyz`)).status).toBe(200)
  expect(await (await fetch(`${operatorUrl}/metrics`)).text()).toContain('svc_hub_mailboxes 0')
  child.kill('SIGTERM')
  expect(await exited).toEqual([0, null])
  expect(readdirSync(cwd)).toEqual(['svc-hub-data'])
  rmSync(folder, { recursive: true })
})
