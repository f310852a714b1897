/** A coding agent that was upgraded since it was set: it is tried before it answers anybody. */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ANSWER, type RecordingModel, startRecordingModel } from '../../autoreply/attack/recording-model.ts'
import { type Leak, placeScriptedAgent } from '../../autoreply/attack/testing.ts'
import type { AutoReplyConfig } from '../../protocol/control/auto-reply-config.ts'
import { type TestNode, TestWorld } from '../testing/node.ts'
import type { AutoReply } from './auto-reply.ts'
import { openAutoReply } from './open.ts'

const claude: AutoReplyConfig = { backend: 'exec', agent: 'claude', sandbox: false, poll_interval_seconds: 1 }
const LATER = { timeout: 15_000, interval: 20 }

let world: TestWorld
let alice: TestNode
let bob: TestNode
let loop: AutoReply
let bin: string
let model: RecordingModel

beforeEach(async () => {
  world = new TestWorld()
  ;({ alice, bob } = await world.pair())
  bin = mkdtempSync(join(tmpdir(), 'svc-upgraded-'))
  model = await startRecordingModel({ task: 'count', words: ['owner'], calls: [] })
  const env = { PATH: upgradeTo('none'), HOME: bin, ANTHROPIC_BASE_URL: model.url, ANTHROPIC_API_KEY: 'none' }
  loop = openAutoReply(bob.ctx, env, () => [])
})
afterEach(async () => {
  await loop.stop()
  await model.close()
  rmSync(bin, { recursive: true })
  await world[Symbol.asyncDispose]()
})

/** Another version of the same program stands in its place; what `PATH` must be for it. */
const upgradeTo = (leak: Leak): string => placeScriptedAgent(bin, leak)

async function sets(unsafe = false): Promise<void> {
  await loop.check(claude, claude, { unsafe, signal: AbortSignal.timeout(30_000) })
  bob.ctx.settings.change({ auto_reply: claude })
  await loop.restart()
}

async function asked(task: string): Promise<() => string[]> {
  const { id } = alice.delegate(bob, task)
  await world.settle()
  return () =>
    bob
      .messages(id)
      .filter(({ auto }) => auto === 1)
      .map(({ text }) => text)
}

test('another version is tried before it answers, and the node says so meanwhile', async () => {
  await sets()
  const first = await asked('count one')
  await expect.poll(first, LATER).toEqual([ANSWER])
  expect(loop.fault).toBeUndefined()
  upgradeTo('instructions')
  const second = await asked('count two')
  await expect
    .poll(() => String(loop.fault), { timeout: 15_000, interval: 2 })
    .toMatch(/^claude 9\.9\.9 \(instructions\) was not tried here yet; it is before it answers$/)
  await expect
    .poll(() => String(loop.fault), LATER)
    .toMatch(/^claude 9\.9\.9 \(instructions\) does not withstand an attack .*owner's instructions/)
  expect(second()).toEqual([])

  upgradeTo('none')
  await expect.poll(second, LATER).toEqual([ANSWER])
  expect(loop.fault).toBeUndefined()
})

test('what its owner insisted on answers, and the next version that leaks does not', async () => {
  upgradeTo('instructions')
  await sets(true)
  const first = await asked('count one')
  await expect.poll(first, LATER).toEqual([ANSWER])
  upgradeTo('session')
  const second = await asked('count two')
  await expect.poll(() => String(loop.fault), LATER).toMatch(/\(session\) does not withstand/)
  expect(second()).toEqual([])
})
