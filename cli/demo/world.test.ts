/** The commands that a demo runs. */
import { writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { World } from './world.ts'

test('a command that gives no answer is ended, and says how long it was waited for', async () => {
  await using world = new World({ svc: '', hub: '' })
  const program = world.dir('silent.mjs')
  writeFileSync(program, 'console.error("begun"); setInterval(() => {}, 1000)')
  const ran = await world.run(program, [], world.env('alice'), world.root, 1000)
  expect(ran).toEqual({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/^(begun\n)?it gave no answer within 1 s$/),
  })
})
