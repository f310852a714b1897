/** Whoever asks a measurement for help gets words, and one that a signal ends leaves no process. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, expect, test } from 'vitest'

const folder = mkdtempSync(join(tmpdir(), 'svc-bench-help-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const at = (name: string) => new URL(`../${name}`, import.meta.url).pathname
const names = readdirSync(at('.')).filter(name => name.endsWith('.ts') && name !== 'main.ts')
const asked = (...args: string[]) =>
  spawnSync(process.execPath, args, { encoding: 'utf8', env: { ...process.env, TMPDIR: folder } })

test('the list of measurements says what each measures, and starts none', () => {
  for (const flag of ['--help', '-h']) {
    const { status, stdout, stderr } = asked(at('main.ts'), flag)
    expect([status, stderr]).toEqual([0, ''])
    for (const name of names) expect(stdout).toContain(`  ${name.replace('.ts', '')}\n`)
  }
  expect(asked(at('attack/main.ts'), '--help')).toMatchObject({ status: 0, stderr: '' })
  expect(readdirSync(folder)).toEqual([])
})

test('an unknown flag starts none either', () => {
  const { status, stderr } = asked(at('main.ts'), '--jsno', 'hub-start')
  expect([status, stderr]).toEqual([1, expect.stringContaining('there is no --jsno')])
})

test('one that is started by itself has help', () => {
  const { status, stdout } = asked(at('hub-start.ts'), '--help')
  expect([status, stdout]).toEqual([0, 'From the start of the built program to its first answer.\n'])
})

test('a signal ends what was started, and takes its folder away', async () => {
  const program = `
    const { startHubProcess } = await import(${JSON.stringify(at('lib/hub-load.ts'))})
    const { pid } = await startHubProcess()
    console.log(pid)
    await new Promise(() => setInterval(() => undefined, 1000))`
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, TMPDIR: folder },
  })
  const [pid] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  expect(existsSync(`/proc/${pid}`)).toBe(true)
  child.kill('SIGTERM')
  expect(await once(child, 'exit')).toEqual([143, null])
  expect(existsSync(`/proc/${pid}`)).toBe(false)
  expect(readdirSync(folder)).toEqual([])
}, 30_000)
