/** What the doctor says of a machine that has too little. */
import { tmpdir } from 'node:os'
import { expect, test } from 'vitest'
import { checkRoom } from './doctor-machine.ts'
import type { RunningState } from './order-shapes.ts'

test('of a disk without room it says how much is left and how much is needed', async () => {
  const full = { full: true, broken: false } as RunningState
  expect(await checkRoom({ dataDir: tmpdir() }, full)).toMatchObject({
    state: 'wrong',
    found: expect.stringMatching(/^\d+ MiB free, and 64 MiB are needed: mail is refused/),
    mend: expect.stringContaining('1024 MiB free'),
  })
})
