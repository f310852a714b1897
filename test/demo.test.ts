// project: programs

/** The demo as a user runs it: every step compared, nothing left behind. */
import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { federationSteps } from '../cli/demo/federation-steps.ts'
import { openSteps } from '../cli/demo/open-steps.ts'
import { paySteps } from '../cli/demo/pay-steps.ts'
import { processesSteps } from '../cli/demo/processes-steps.ts'
import { steps } from '../cli/demo/steps.ts'
import { letThrough, withoutPostgres } from '../hub/testing/postgres-server.ts'

const program = new URL('../dist/svc.js', import.meta.url).pathname
const DEMO_TIMEOUT_MS = 300_000
type Outcome = {
  ok: boolean
  interaction?: string
  steps: { name: string; ok: boolean; ms: number; detail: string }[]
}

function runDemo(folder: string, ...args: string[]): Promise<{ code: number; outcome: Outcome }> {
  return new Promise(resolve => {
    execFile(
      process.execPath,
      [program, 'demo', '--json', ...args],
      { timeout: DEMO_TIMEOUT_MS, env: { ...process.env, TMPDIR: folder } },
      (error, stdout) =>
        resolve({ code: error === null ? 0 : Number(error.code), outcome: JSON.parse(stdout) as Outcome }),
    )
  })
}

test.each([
  ['the demo', [], steps, 9],
  ['the demo in which one agent pays the other', ['--pay'], paySteps, 12],
  ['the demo with three hubs', ['--hubs', '3'], federationSteps, 13],
  ['the demo at a hub that seals nothing', ['--wire', '1'], openSteps, 19],
  ...(withoutPostgres === undefined
    ? ([['the demo at a hub of three processes', ['--processes', '3'], processesSteps, 11]] as const)
    : []),
] as const)(
  '%s runs all its steps, prints one object, and leaves neither process nor file behind',
  {
    timeout: DEMO_TIMEOUT_MS,
  },
  async (_, flags, steps, least) => {
    // of its own, because other demos may run beside this one
    const folder = mkdtempSync(join(tmpdir(), 'svc-demo-test-'))
    // a database's server runs as another user where this one is root
    letThrough(tmpdir())
    letThrough(folder)
    const { code, outcome } = await runDemo(folder, ...flags)
    expect(outcome.steps.filter(step => !step.ok)).toEqual([])
    expect(code).toBe(0)
    expect(outcome.ok).toBe(true)
    // the task that it names for looking around
    expect(outcome.interaction).toMatch(/^[\w-]{22}$/)
    expect(outcome.steps.map(step => step.name)).toEqual(steps.map(step => step.name))
    expect(steps.length).toBeGreaterThanOrEqual(least)
    for (const step of outcome.steps) expect(step.ms).toBeGreaterThan(0)
    expect(readdirSync(folder)).toEqual([])
    expect(processesOf(folder)).toEqual([])
  },
)

/** Processes that have a home in this folder in their environment. */
function processesOf(folder: string): string[] {
  const environment = (pid: string) => {
    try {
      return readFileSync(`/proc/${pid}/environ`, 'utf8')
    } catch {
      return ''
    }
  }
  return readdirSync('/proc')
    .filter(pid => /^\d+$/.test(pid))
    .filter(pid => environment(pid).includes(`SVC_HOME=${folder}/`))
}

if (withoutPostgres !== undefined)
  test('the demo at a hub of three processes says which package it needs', {
    timeout: DEMO_TIMEOUT_MS,
  }, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-demo-test-'))
    const { code, outcome } = await runDemo(folder, '--processes', '3')
    expect([code, outcome.steps[0]?.detail]).toEqual([1, expect.stringContaining('PostgreSQL server')])
  })
