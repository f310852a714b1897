/** A node that runs and does not answer, as a process. */
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { World } from '../cli/demo/world.ts'

const root = new URL('..', import.meta.url).pathname
let world: World
beforeAll(() => {
  world = new World({ svc: join(root, 'dist', 'svc.js'), hub: '' })
})
afterAll(() => world[Symbol.asyncDispose]())

test('up of a node that hangs says so, and does not call it running', async () => {
  const pid = Number((await world.startNode('alice'))['pid'])
  process.kill(pid, 'SIGSTOP')
  const hung = await world.run(world.programs.svc, ['up'], world.env('alice'))
  process.kill(pid, 'SIGCONT')
  expect(hung).toMatchObject({ code: 1, stdout: '' })
  expect(hung.stderr).toContain(
    `runs (pid ${pid}) but does not answer\ntry: svc logs; if it stays so: kill ${pid}`,
  )
  expect(await world.startNode('alice')).toMatchObject({ state: 'running', already: true, pid })
})
