/** The demo as a user runs it: every step compared, nothing left behind. */
import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { expect, test } from 'vitest'
import { paySteps } from '../cli/demo/pay-steps.ts'
import { steps } from '../cli/demo/steps.ts'

const program = new URL('../dist/svc.js', import.meta.url).pathname
const DEMO_TIMEOUT_MS = 90_000
type Outcome = { ok: boolean; steps: { name: string; ok: boolean; ms: number; detail: string }[] }

function runDemo(...args: string[]): Promise<{ code: number; outcome: Outcome }> {
  return new Promise(resolve => {
    execFile(
      process.execPath,
      [program, 'demo', '--json', ...args],
      { timeout: DEMO_TIMEOUT_MS },
      (error, stdout) =>
        resolve({ code: error === null ? 0 : Number(error.code), outcome: JSON.parse(stdout) as Outcome }),
    )
  })
}

test.each([
  ['the demo', [], steps, 9],
  ['the demo in which one agent pays the other', ['--pay'], paySteps, 12],
] as const)(
  '%s runs all its steps, prints one object, and leaves neither process nor file behind',
  {
    timeout: DEMO_TIMEOUT_MS,
  },
  async (_, flags, steps, least) => {
    const before = readdirSync(tmpdir()).filter(name => name.startsWith('svc-demo-'))
    const { code, outcome } = await runDemo(...flags)
    expect(outcome.steps.filter(step => !step.ok)).toEqual([])
    expect(code).toBe(0)
    expect(outcome.ok).toBe(true)
    expect(outcome.steps.map(step => step.name)).toEqual(steps.map(step => step.name))
    expect(steps.length).toBeGreaterThanOrEqual(least)
    for (const step of outcome.steps) expect(step.ms).toBeGreaterThan(0)
    expect(
      readdirSync(tmpdir()).filter(name => name.startsWith('svc-demo-') && !before.includes(name)),
    ).toEqual([])
    expect(demoProcesses()).toEqual([])
  },
)

/** Processes that have the home of an ended demo in their environment. */
function demoProcesses(): string[] {
  const environment = (pid: string) => {
    try {
      return readFileSync(`/proc/${pid}/environ`, 'utf8')
    } catch {
      return ''
    }
  }
  return readdirSync('/proc')
    .filter(pid => /^\d+$/.test(pid))
    .filter(pid => {
      const home = /SVC_HOME=(\S*svc-demo-[^\0/]*)/.exec(environment(pid))?.[1]
      return home !== undefined && !existsSync(home)
    })
}
