/** Each step of the demo fails when its premise is spoiled: none of them is a step that can't fail. */
import { execFile } from 'node:child_process'
import { expect, test } from 'vitest'
import { steps } from '../cli/demo/steps.ts'

const program = new URL('../dist/svc.js', import.meta.url).pathname
type Outcome = { ok: boolean; steps: { name: string; ok: boolean; detail: string }[] }

test.each(steps.map(step => step.name))('the step %s fails when its premise is spoiled', async name => {
  const { code, stdout } = await new Promise<{ code: number; stdout: string }>(resolve =>
    execFile(process.execPath, [program, 'demo', '--json', `--break=${name}`], (error, stdout) =>
      resolve({ code: error === null ? 0 : Number(error.code), stdout }),
    ),
  )
  const outcome = JSON.parse(stdout) as Outcome
  expect(code).toBe(1)
  expect(outcome.ok).toBe(false)
  expect(outcome.steps.at(-1)).toMatchObject({ name, ok: false })
  expect(outcome.steps.slice(0, -1).every(step => step.ok)).toBe(true)
})
