// project: programs

/** A hub of a build without its task board: nothing is at the routes of the board, and the rest is as always. */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { RouteRow } from '../../protocol/contract/route.ts'
import { taskRoutes } from '../../protocol/wire1/routes/tasks.ts'

const program = new URL('../cli/program.ts', import.meta.url).pathname
const directory = mkdtempSync(join(tmpdir(), 'svc-boardless-'))

const args = ['serve', '--wire', '1', '--listen', '127.0.0.1:0', '--data-dir', directory]
const child = spawn(process.execPath, ['--conditions=no_taskboard', program, ...args], {
  stdio: ['ignore', 'pipe', 'ignore'],
})
let url = ''
beforeAll(async () => {
  for await (const line of createInterface({ input: child.stdout })) {
    url = /http:\/\/\S+/.exec(line)?.[0] ?? ''
    if (url !== '') break
  }
})
afterAll(async () => {
  child.kill('SIGTERM')
  await new Promise(ended => child.once('exit', ended))
  rmSync(directory, { recursive: true, force: true })
})

test.each(Object.values<RouteRow>(taskRoutes))('$method $path is 404', async ({ method, path }) => {
  const body = method === 'POST' ? { body: '{}' } : {}
  const answer = await fetch(`${url}${path.replace('{id}', 'any')}`, { method, ...body })
  expect(answer.status).toBe(404)
  expect(await answer.json()).toEqual({ error: expect.any(String) })
})

test('the manual names no board, and all else is there', async () => {
  expect(await (await fetch(`${url}/llms.txt`)).text()).not.toMatch(/board/)
  expect(await (await fetch(`${url}/stats`)).json()).toMatchObject({ agents: 0 })
})
