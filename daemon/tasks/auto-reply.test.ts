import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { AutoReplyConfig } from '../../protocol/control/shapes.ts'
import { type TestNode, TestWorld } from '../testing/node.ts'
import { AutoReply } from './auto-reply.ts'
import { proposeEnd } from './conversation.ts'
import { delegateTask } from './delegation.ts'

const TOKEN = 'control-token-of-this-node'

let world: TestWorld
let alice: TestNode
let bob: TestNode
let loop: AutoReply
/** Of the owner, outside the data directory. */
let programs: string

beforeEach(async () => {
  world = new TestWorld()
  ;({ alice, bob } = await world.pair())
  programs = mkdtempSync(join(tmpdir(), 'svc-programs-'))
  loop = new AutoReply(bob.ctx, { PATH: process.env['PATH'] }, () => [TOKEN])
})
afterEach(async () => {
  await loop.stop()
  rmSync(programs, { recursive: true })
  await world[Symbol.asyncDispose]()
})

/** A program that answers with the last line of the prompt that asks, or as it is told. */
function program(body: string): string {
  const path = join(programs, 'answer.sh')
  writeFileSync(path, `#!/bin/sh\nprompt=$(cat)\n${body}\n`, { mode: 0o755 })
  return path
}
const ECHO = `printf '%s' "$prompt" | grep -o 'ask: [a-z]*' | tail -1`

async function starts(changes: Partial<AutoReplyConfig> = {}, body = ECHO): Promise<void> {
  const auto_reply = {
    backend: 'exec' as const,
    command: program(body),
    poll_interval_seconds: 1,
    ...changes,
  }
  bob.ctx.settings.change({ auto_reply })
  await loop.restart()
}

async function asked(task: string, from = alice): Promise<string> {
  const { id } = from.delegate(bob, task)
  await world.settle()
  return id
}
const words = (id: string) => bob.messages(id).map(({ text }) => text)
const autos = (id: string) => bob.messages(id).filter(({ auto }) => auto === 1).length
const LATER = { timeout: 10_000, interval: 20 }
const answered = (id: string, times = 1) => expect.poll(() => autos(id), LATER).toBe(times)
const events = (id: string) =>
  bob.heard
    .filter(({ type, data }) => type === 'autoreply' && data['interaction_id'] === id)
    .map(({ data }) => data['event'])
/** The loop looks again, and has time to run its program. */
async function aRound(): Promise<void> {
  bob.ctx.events.emit('inbox', {})
  await new Promise(resolve => setTimeout(resolve, 500))
}

describe('auto-reply', () => {
  test('answers a turn of a contact once, under its mark, and the next turn anew', async () => {
    await starts()
    const id = await asked('ask: one')
    await answered(id)
    expect(words(id)).toEqual(['ask: one', 'ask: one'])
    expect(bob.thread(id).autoReplies).toBe(1)
    await expect.poll(() => events(id), LATER).toEqual(['answered'])
    await world.settle()
    alice.say(id, 'ask: two')
    await world.settle()
    await answered(id, 2)
    expect(words(id).at(-1)).toBe('ask: two')
    expect(bob.thread(id).autoReplies).toBe(2)
  })

  test('that is there for images alone says so to a task without one, and answers one with an image', async () => {
    await starts({ require_image: true, usage_hint: 'send an image' })
    const bare = await asked('ask: bare')
    await answered(bare)
    expect(words(bare).at(-1)).toBe('send an image')
    const image = join(programs, 'a.png')
    writeFileSync(image, 'an image')
    const id = delegateTask(alice.ctx, {
      to: bob.aid,
      task: 'ask: image',
      attach: [image],
    })
    await world.settle()
    await answered(id)
    expect(words(id).at(-1)).toBe('ask: image')
  })

  test('gives way to a person who answered in the meantime', async () => {
    await starts({}, `sleep 0.3; ${ECHO}`)
    const id = await asked('ask: one')
    await new Promise(resolve => setTimeout(resolve, 150))
    bob.say(id, 'I do it myself')
    await aRound()
    expect(words(id)).toEqual(['ask: one', 'I do it myself'])
  })

  test('does not answer an older turn when a newer one came while it ran', async () => {
    await starts({}, `sleep 0.4; ${ECHO}`)
    const id = await asked('ask: one')
    await new Promise(resolve => setTimeout(resolve, 150))
    alice.say(id, 'ask: two')
    await world.settle()
    await answered(id)
    expect(words(id)).toEqual(['ask: one', 'ask: two', 'ask: two'])
  })

  test('accepts an end that the peer proposed once its last word is answered', async () => {
    await starts()
    const id = await asked('ask: one')
    await answered(id)
    await world.settle()
    alice.within(() => proposeEnd(alice.ctx, alice.thread(id)))
    await world.settle()
    await expect.poll(() => bob.thread(id).state, LATER).toBe('ended')
    expect(autos(id)).toBe(1)
  })

  test('leaves strangers, blocked contacts, muted threads and ended tasks alone', async () => {
    const eve = await world.node('eve')
    eve.ctx.contacts.add(bob.aid, 'bob')
    await starts()
    const stranger = await asked('ask: stranger', eve)
    bob.within(() => bob.ctx.threads.update(bob.thread(stranger), { state: 'open' }))
    const muted = await asked('ask: nothing')
    await answered(muted)
    bob.within(() => bob.ctx.threads.update(bob.thread(muted), { autoReply: 0 }))
    await world.settle()
    alice.say(muted, 'ask: again')
    await world.settle()
    await aRound()
    expect([autos(stranger), autos(muted)]).toEqual([0, 1])
    await loop.stop()
    await starts({ strangers: true })
    await answered(stranger)
    expect(autos(muted)).toBe(1)
  })

  test('does nothing where nothing may be signed: an old copy, a deactivated identity', async () => {
    await starts()
    bob.ctx.hub.oldCopy = 'an older copy'
    const id = await asked('ask: one')
    await aRound()
    expect(autos(id)).toBe(0)
  })

  test.each(['hex', 'base64', 'base64url'] as const)(
    'never sends a key of the node, in %s',
    async encoding => {
      const seed = Buffer.from(bob.ctx.identity.seed).toString(encoding)
      await starts({}, `echo 'here: ${seed}'`)
      const id = await asked('ask: leak')
      await expect.poll(() => events(id), LATER).toContain('refused')
      await aRound()
      expect(words(id).join()).not.toContain(seed)
    },
  )

  test('never sends the phrase of the next key', async () => {
    const phrase = bob.ctx.identity.exportNext()
    await starts({}, `echo 'Words: ${phrase.replaceAll(' ', ' . ')}'`)
    const id = await asked('ask: leak')
    await expect.poll(() => events(id), LATER).toContain('refused')
    await aRound()
    expect(words(id)).toEqual(['ask: leak', 'I cannot answer this request.'])
  })

  test('answers a question of its owner outside any thread, and says what answered', async () => {
    await starts()
    const reply = await loop.test('ask: hello', AbortSignal.timeout(5000))
    expect(reply).toMatchObject({ answer: 'ask: hello' })
    expect(reply.ms).toBeGreaterThanOrEqual(0)
    bob.ctx.settings.change({ auto_reply: undefined })
    await expect(loop.test('ask: hello', AbortSignal.timeout(5000))).rejects.toMatchObject({
      code: 'no_auto_reply',
    })
  })

  test('that cannot start leaves the node running and says why', async () => {
    bob.ctx.settings.change({ auto_reply: { backend: 'exec', command: '/nowhere/program' } })
    await loop.start()
    expect(loop.fault).toContain('/nowhere/program')
    await starts()
    expect(loop.fault).toBeUndefined()
  })

  test('with tools leaves a record in the evidence', async () => {
    await starts({ tools: 'read' })
    const [record] = bob.ctx.chain.read({ eventType: 'svc.autoreply.tools' })
    expect(record?.['payload']).toMatchObject({ tools: 'read', backend: 'exec' })
    await starts({ tools: 'none' })
    expect(bob.ctx.chain.read({ eventType: 'svc.autoreply.tools' })).toHaveLength(1)
  })
})
