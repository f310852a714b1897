import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { findSandbox, NO_SANDBOX } from '../../autoreply/sandbox.ts'
import type { AutoReplyConfig } from '../../protocol/control/auto-reply-config.ts'
import { addPayment, markHeld, paymentOf } from '../store/payments.ts'
import { type TestNode, TestWorld } from '../testing/node.ts'
import type { AutoReply } from './auto-reply.ts'
import { openAutoReply } from './open.ts'

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
  loop = openAutoReply(bob.ctx, { PATH: process.env['PATH'] }, () => [TOKEN])
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
/** Nobody listens there. */
const MODEL: AutoReplyConfig = { backend: 'openai', api_base: 'http://127.0.0.1:1/v1', model: 'm' }
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
  test('answers nothing that a copy of this node which is lost may have answered, until the other side says so', async () => {
    const [answered, open] = [await asked('ask: one'), await asked('ask: two')]
    const archive = world.archive(bob)
    const made = world.clock.ms
    bob.say(answered, 'said before')
    await world.settle()
    bob = await world.restore(bob, archive, made)
    loop = openAutoReply(bob.ctx, { PATH: process.env['PATH'] }, () => [TOKEN])
    await starts()
    await aRound()
    expect([autos(answered), autos(open)]).toEqual([0, 0])
    bob.askNumbers()
    await world.settle()
    await expect.poll(() => autos(open), LATER).toBe(1)
    expect(autos(answered)).toBe(0)
  })

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
    const id = alice.tasks.delegation.delegate({
      to: bob.aid,
      task: 'ask: image',
      attach: [image],
    })
    await world.settle()
    await answered(id)
    expect(words(id).at(-1)).toBe('ask: image')
  })

  test('has begun the work for a payment before its program runs, and no work that is not paid for', async () => {
    const begun = (id: string) => paymentOf(bob.ctx.store, bob.thread(id).key)?.beganAt
    const paid = (id: string, hold: boolean) =>
      bob.within(() => {
        const { store } = bob.ctx
        const { key } = bob.thread(id)
        const payment = new Uint8Array(36).fill(key)
        addPayment(store, {
          ...{ interaction: key, side: 'payee' as const, payment, amount: 5, network: 'hub:A', starts: 5 },
          ...{ authorization: payment, salt: payment, at: 1, holdUntil: 9, orderedBy: null },
        })
        if (hold) markHeld(store, key, payment)
      })
    const ids = [await asked('ask: held'), await asked('ask: other')]
    ids.forEach((id, n) => {
      paid(id, n === 0)
    })
    expect(ids.map(begun)).toEqual([null, null])
    await starts({}, 'sleep 5')
    await expect.poll(() => begun(ids[0] as string), LATER).toBe(world.clock.ms)
    expect(begun(ids[1] as string)).toBeNull()
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
    alice.within(() => alice.tasks.endings.propose(alice.thread(id)))
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

  test.each([
    ['in an old copy', () => Object.assign(bob.ctx.hub, { oldCopy: 'an older copy' })],
    ['for a deactivated identity', () => bob.ctx.identity.deactivate(world.clock.ms + 1)],
  ])('does nothing %s, where nothing may be signed', async (_, ends) => {
    const id = await asked('ask: one')
    ends()
    await starts()
    await aRound()
    expect(autos(id)).toBe(0)
  })

  test('looks at once when a task or a message comes', async () => {
    await starts({ poll_interval_seconds: 3600 })
    const id = await asked('ask: one')
    await answered(id)
    await world.settle()
    alice.say(id, 'ask: two')
    await world.settle()
    await answered(id, 2)
  })

  test('answers the last word of a peer that proposed the end, and then accepts it', async () => {
    const id = await asked('ask: one')
    alice.within(() => alice.tasks.endings.propose(alice.thread(id)))
    await world.settle()
    await starts()
    await expect.poll(() => bob.thread(id).state, LATER).toBe('ended')
    expect(words(id)).toContain('ask: one')
    expect(events(id)).toEqual(['answered', 'ended'])
  })

  test('proposes the end after as many answers as it may give in one task', async () => {
    await starts({ max_auto_replies: 1 })
    const id = await asked('ask: one')
    await answered(id)
    expect(bob.thread(id).state).toBe('open')
    await world.settle()
    alice.say(id, 'ask: two')
    await world.settle()
    await expect.poll(() => bob.thread(id), LATER).toMatchObject({ state: 'end_proposed', endBy: 'me' })
    expect(autos(id)).toBe(1)
  })

  test('says nothing in a task that was withdrawn while it ran', async () => {
    const go = join(programs, 'go')
    await starts(
      { sandbox: false },
      `touch '${go}.begun'; while [ ! -e '${go}' ]; do sleep 0.01; done; ${ECHO}`,
    )
    const id = await asked('ask: one')
    await expect.poll(() => existsSync(`${go}.begun`), LATER).toBe(true)
    alice.within(() => alice.tasks.leaving.cancel(alice.thread(id), 'not needed'))
    await world.settle()
    writeFileSync(go, '')
    const other = await asked('ask: two')
    await answered(other)
    expect(autos(id)).toBe(0)
    expect(bob.thread(id).state).toBe('cancelled')
  })

  test('is told who said what, and what came with it', async () => {
    await starts({ sandbox: false }, `printf '%s' "$prompt" > '${programs}/prompt'; ${ECHO}`)
    const picture = join(programs, 'a.png')
    writeFileSync(picture, 'an image')
    const id = alice.tasks.delegation.delegate({ to: bob.aid, task: 'ask: image', attach: [picture] })
    await world.settle()
    await answered(id)
    await world.settle()
    alice.say(id, 'ask: again')
    await world.settle()
    await answered(id, 2)
    const prompt = readFileSync(join(programs, 'prompt'), 'utf8')
    expect(prompt).toContain(`The other party is alice (${alice.aid})`)
    expect(prompt).toContain('[attachment: “a.png”, image/png, 8 bytes, in/01-a.png]')
    const turns = [...prompt.matchAll(/^<(peer|answer) .*>\n(.*)/gm)].map(([, side, text]) => [side, text])
    expect(turns).toEqual([
      ['peer', 'ask: image'],
      ['answer', 'ask: image'],
      ['peer', 'ask: again'],
    ])
  })

  test.each(['hex', 'base64', 'base64url'] as const)(
    'never sends a key of the node, in %s',
    async encoding => {
      const seed = Buffer.from(bob.ctx.identity.seed).toString(encoding)
      await starts({}, `echo 'here: ${seed}'`)
      const id = await asked('ask: leak')
      await expect.poll(() => events(id), LATER).toEqual(['refused', 'answered'])
      expect(words(id).join()).not.toContain(seed)
    },
  )

  test('sends the files that a run leaves where its owner allowed that', async () => {
    const body = `mkdir -p out; printf '6\\n' > out/sum.txt; echo 'see the file'`
    await starts({}, body)
    const without = await asked('ask: hello')
    await answered(without)
    await starts({ send_files: true }, body)
    const id = await asked('ask: hello')
    await answered(id)
    const filesOf = (task: string) =>
      bob.messages(task).flatMap(({ key, auto }) => (auto === 1 ? bob.ctx.threads.attachmentsOf(key) : []))
    expect(filesOf(without)).toEqual([])
    expect(filesOf(id)).toMatchObject([{ name: 'sum.txt', mediaType: 'text/plain', size: 2 }])
  })

  test('never sends the phrase of the next key', async () => {
    const phrase = bob.ctx.identity.exportNext()
    await starts({}, `echo 'Words: ${phrase.replaceAll(' ', ' . ')}'`)
    const id = await asked('ask: leak')
    await expect.poll(() => events(id), LATER).toEqual(['refused', 'answered'])
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

  test('says why the last answer failed until one succeeds', async () => {
    expect(loop.lastFailure).toBeUndefined()
    await starts({}, 'exit 3')
    await asked('ask: one')
    await expect.poll(() => loop.lastFailure, LATER).toMatch(/ended with 3/)
    const at = new Date(world.clock.ms).toISOString()
    expect(loop.lastFailure).toContain(`the last automatic answer failed at ${at}: `)
    expect(loop.lastFailure).toContain('; try it with: svc autoreply test')
    const other = { backend: 'exec' as const, command: program(ECHO) }
    await loop.test('ask: hello', AbortSignal.timeout(5000), other)
    expect(loop.lastFailure).toBeDefined()
    await loop.test('ask: hello', AbortSignal.timeout(5000))
    expect(loop.lastFailure).toBeUndefined()
  })

  test('forgets the last failure with an answer', async () => {
    await starts({}, `case "$prompt" in *'ask: bad'*) exit 3;; esac; ${ECHO}`)
    await asked('ask: bad')
    await expect.poll(() => loop.lastFailure, LATER).toBeDefined()
    await answered(await asked('ask: good'))
    await expect.poll(() => loop.lastFailure, LATER).toBeUndefined()
  })

  test('shows its owner what it changes in an answer before it leaves, and that it changes nothing', async () => {
    await starts()
    const ask = () => loop.test('ask: hello', AbortSignal.timeout(5000))
    expect(await ask()).not.toHaveProperty('changes')
    await starts({}, `echo '${TOKEN}'`)
    expect(await ask()).toMatchObject({
      answer: 'I cannot answer this request.',
      changes: ['replaced: it held a secret of this node'],
    })
  })

  test("keeps the password of the network's proxy back as well, as it is written and as it is meant", async () => {
    await starts()
    const PATH = process.env['PATH']
    const behind = openAutoReply(
      bob.ctx,
      { PATH, https_proxy: 'http://me:a%2Fpass+word-of-mine@proxy:3128' },
      () => [],
    )
    for (const told of ['a%2Fpass+word-of-mine', 'a/pass+word-of-mine']) {
      const command = program(`echo '${told}'`)
      const answer = await behind.test('ask: x', AbortSignal.timeout(5000), { backend: 'exec', command })
      expect(answer.changes).toEqual(['replaced: it held a secret of this node'])
    }
  })

  test('is held by the walls of this machine unless its owner takes them away or no program answers', async () => {
    const PATH = process.env['PATH']
    await starts()
    expect(loop.sandbox).toEqual(findSandbox({ PATH }))
    await starts({ sandbox: true })
    expect(loop.sandbox).toEqual(findSandbox({ PATH }))
    await starts({ sandbox: false })
    expect(loop.sandbox).toEqual(NO_SANDBOX)
    bob.ctx.settings.change({ auto_reply: MODEL })
    await loop.restart()
    expect(loop.sandbox).toBeUndefined()
    const standIn = openAutoReply(bob.ctx, { PATH, SVC_EXEC_COMMAND: 'cat' }, () => [])
    bob.ctx.settings.change({ auto_reply: { backend: 'exec', agent: 'claude' } })
    await standIn.restart()
    expect(standIn.sandbox).toBeUndefined()
    await standIn.stop()
  })

  test('that is not configured neither runs nor has a fault', async () => {
    await loop.start()
    expect([loop.fault, loop.sandbox]).toEqual([undefined, undefined])
  })

  const checks = (config: AutoReplyConfig) =>
    loop.check(config, config, { unsafe: false, signal: AbortSignal.timeout(5000) })
  const working = (work_dir: () => string): (() => AutoReplyConfig) => {
    return () => ({ backend: 'exec', command: program(ECHO), work_dir: work_dir() })
  }

  test.each<[string, () => AutoReplyConfig, RegExp]>([
    ['a program that is not there', () => ({ backend: 'exec', command: '/nowhere/program' }), /nowhere/],
    ['a model without an address', () => ({ backend: 'openai', model: 'm' }), /needs --api-base$/],
    ['a relative folder', working(() => 'here'), /here is not an absolute path; give it from the root on$/],
    ['a folder that is not there', working(() => join(programs, 'nowhere')), /is no folder that this node/],
    ['a file for a folder', working(() => program(ECHO)), /is not a folder; make it first/],
  ])('cannot be set to %s', async (_, config, why) => {
    await expect(checks(config())).rejects.toThrow(why)
  })

  test.each<[string, () => AutoReplyConfig]>([
    ['a program', () => ({ backend: 'exec', command: program(ECHO) })],
    ['a program in a folder of its owner', working(() => programs)],
    ['a model behind an address', () => MODEL],
  ])('may be set to %s', async (_, config) => {
    await checks(config())
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
    bob.ctx.hub.oldCopy = 'a newer copy was seen'
    await starts({ tools: 'read' })
    bob.ctx.hub.oldCopy = undefined
    await starts({ tools: 'none' })
    expect(bob.ctx.chain.read({ eventType: 'svc.autoreply.tools' })).toHaveLength(1)
  })
})
