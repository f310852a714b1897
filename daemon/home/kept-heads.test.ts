import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { systemTimers } from '../../protocol/timers.ts'
import { forgetHead, KeptHeads } from './kept-heads.ts'

const identity = { aid: `A${'b'.repeat(43)}` }
const head = { length: 7, headId: 'b'.repeat(52) }
const home = () => mkdtempSync(join(tmpdir(), 'svc-heads-'))

test("a head outlives the runtime directory, also one of the user's own: it stands in the state directory too", () => {
  const HOME = home()
  const env = { HOME, SVC_RUNTIME_DIR: join(HOME, 'run') }
  new KeptHeads(env, identity, systemTimers).keep(head)
  rmSync(join(HOME, 'run'), { recursive: true })
  expect(new KeptHeads(env, identity, systemTimers).read()).toEqual(head)
  expect(
    new KeptHeads({ HOME, XDG_STATE_HOME: join(HOME, 'other') }, identity, systemTimers).read(),
  ).toBeUndefined()
})

test('the furthest of all places counts, and a forgotten one nowhere', () => {
  const HOME = home()
  const env = { HOME, SVC_RUNTIME_DIR: join(HOME, 'run'), XDG_STATE_HOME: join(HOME, 'state') }
  new KeptHeads(env, identity, systemTimers).keep(head)
  new KeptHeads({ ...env, XDG_STATE_HOME: join(HOME, 'other') }, identity, systemTimers).keep({
    ...head,
    length: 9,
  })
  expect(new KeptHeads(env, identity, systemTimers).read()).toEqual({ ...head, length: 9 })
  forgetHead(env, identity.aid)
  expect(new KeptHeads(env, identity, systemTimers).read()).toBeUndefined()
})

test('a chain that cannot be read for a moment ends nothing, and its next record is followed', async () => {
  const HOME = home()
  const env = { HOME, SVC_RUNTIME_DIR: join(HOME, 'run') }
  const heads = new KeptHeads(env, identity, systemTimers)
  let asked = 0
  heads.follow(() => {
    asked += 1
    throw new Error('disk I/O error')
  })
  await expect.poll(() => asked).toBe(1)
  expect(heads.read()).toBeUndefined()
  heads.follow(() => head)
  await expect.poll(() => heads.read()).toEqual(head)
})
