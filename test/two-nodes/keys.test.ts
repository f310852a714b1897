import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { mailParts } from '../../daemon/mail/open.ts'
import type { Node } from '../../daemon/node.ts'
import { sealedCarriers } from '../../daemon/sealed/open.ts'
import { counted } from '../../daemon/store/counters.ts'
import { allEntries } from '../../daemon/store/outbox.ts'
import {
  delegated,
  finished,
  type Lab,
  never,
  openPair,
  POLL_SETTLED_MS,
  texts,
  thread,
  until,
} from './world.ts'

const HOUR_MS = 3_600_000
const ENDED_MS = 500
let lab: Lab
let alice: Node
let bob: Node

beforeAll(async () => {
  ;({ lab, alice, bob } = await openPair())
  await alice.handlers.contactAdd({ aid: bob.aid, petname: 'bob' }, never)
})

afterAll(() => lab.close())

const say = (node: Node, interaction_id: string, text: string) =>
  node.handlers.message({ interaction_id, text }, never)
/** Sends what alice holds back, sealed under another identity key; all else of her node keeps its own. */
const sendAs = async (identity: Node['ctx']['identity']) => {
  const carriers = sealedCarriers({ ...alice.ctx, identity })
  const ctx = Object.create(alice.ctx, { carriers: { value: carriers } }) as Node['ctx']
  alice.ctx.store.run('UPDATE outbox SET waits_for = NULL, next_at = ?', alice.ctx.now() + HOUR_MS)
  const [entry] = allEntries(alice.ctx.store)
  if (ctx.hub.home === undefined || entry === undefined) throw new Error('nothing to send')
  expect(await mailParts(ctx).attempts.make(ctx.hub.home, entry)).toEqual({ reached: true })
}
const retryNow = (node: Node) => {
  node.ctx.store.run('UPDATE outbox SET next_at = 0')
  node.wake()
}

describe('a message under a retired key', () => {
  test('without evidence of its time it is shown with that mark, runs nothing and is confirmed with code 4', async () => {
    const id = await delegated(alice, bob, 'under which key')
    await say(bob, id, 'go on')
    await until('alice reads it', async () => (await texts(alice, id)).includes('go on'))
    const { aid, seed, log } = alice.ctx.identity
    // A thief of the old key: it writes after the owner has rotated, and bob knows of the rotation.
    const thief = { aid, seed, log } as Node['ctx']['identity']
    await alice.handlers.idRotate({}, never)
    await until('the hub witnessed it', () => alice.ctx.identity.log.events.at(-1)?.witnesses.length === 1)
    bob.ctx.peers.learn(alice.ctx.identity.log, undefined)
    lab.hub.clock.advance(HOUR_MS)
    const refusedBefore = counted(bob.ctx.store, 'retired_key')
    await lab.line.down()
    await say(alice, id, 'pay the thief')
    await alice.handlers.sending({ interaction_id: id, on: false }, never)
    // what was on its way ends, as nothing listens there
    await new Promise(resolve => setTimeout(resolve, ENDED_MS))
    await lab.line.up()
    await sendAs(thief)
    await until('bob refused it', () => counted(bob.ctx.store, 'retired_key') > refusedBefore)
    const turn = (await thread(bob, id)).turns.find(one => one.text === 'pay the thief')
    expect(turn).toMatchObject({ retired_key: true, mine: false })
    const interaction = bob.ctx.threads.findById(id)
    expect(interaction).toMatchObject({ heldHighest: 1, heldTo: 1 })
    expect(bob.ctx.threads.messages(interaction?.key ?? 0).map(one => one.text)).toEqual([
      'under which key',
      'go on',
    ])
    // The sender hears code 4 and sends the same message again, now under the present key.
    await until('the same message is taken', async () => {
      retryNow(alice)
      return bob.ctx.threads.findById(id)?.heldTo === 2
    })
    const turns = (await thread(bob, id)).turns
    expect(turns.filter(one => one.text === 'pay the thief')).toHaveLength(1)
    expect(turns.at(-1)?.retired_key).toBeUndefined()
    await finished(alice, bob, id)
  })
})

describe('a key state that is not ours', () => {
  test('in the signed notice of the hub is shown as a warning', async () => {
    const { agents } = lab.hub.running.hub
    const signed = agents.notice.bind(agents)
    const warned = async (node: Node) =>
      (await node.handlers.status(undefined, never)).warnings.some(one =>
        one.includes('the hub showed a key state'),
      )
    expect(await warned(alice)).toBe(false)
    agents.notice = agent =>
      signed({
        log: agent.log.aid === alice.aid ? { ...agent.log, headDigest: new Uint8Array(32) } : agent.log,
      })
    await delegated(bob, alice, 'wakes the poll')
    await until('alice warns', () => warned(alice))
    agents.notice = signed
    expect(await warned(bob)).toBe(false)
  })
})

describe('an old backup', () => {
  test('is noticed by the key state that the hub holds: the node signs nothing, says what is needed, and can be read', async () => {
    const node = await lab.member('restored')
    await node.handlers.contactAdd({ aid: bob.aid, petname: 'bob' }, never)
    const id = await delegated(bob, node, 'before the backup')
    await node.stop()
    const [dir, backup] = [join(lab.folder, 'restored'), join(lab.folder, 'backup')]
    cpSync(dir, backup, { recursive: true })
    const newer = await lab.start('restored')
    await newer.handlers.idRotate({}, never)
    await until('the hub has it', () => newer.ctx.identity.log.events.at(-1)?.witnesses.length === 1)
    await newer.stop()
    rmSync(dir, { recursive: true })
    cpSync(backup, dir, { recursive: true })
    const old = await lab.start('restored')
    const hub = async () => (await old.handlers.status(undefined, never)).hub
    await until('it stopped', async () => (await hub())?.state === 'stopped')
    expect((await hub())?.reason).toMatch(
      /holds key event 2 of this identity and this machine 1.*restore the newest/,
    )
    const length = old.ctx.chain.length
    for (const attempt of [
      say(old, id, 'from the past'),
      old.handlers.idRotate({}, never),
      old.handlers.delegate({ to: bob.aid, task: 'x' }, never),
    ])
      await expect(attempt).rejects.toMatchObject({ code: 'old_copy' })
    expect(old.ctx.chain.length).toBe(length)
    expect(await texts(old, id)).toEqual(['before the backup'])
  })
})

describe('the same identity on two machines', () => {
  test('the one that came later stops talking to the hub, signs nothing more and says why', async () => {
    const first = await lab.member('twin')
    await first.stop()
    cpSync(join(lab.folder, 'twin'), join(lab.folder, 'twin-copy'), { recursive: true })
    const again = await lab.start('twin')
    const hubOf = async (node: Node) => (await node.handlers.status(undefined, never)).hub
    await until('the first one polls', async () => (await hubOf(again))?.state === 'online')
    // longer than a poll has to be held in peace
    await new Promise(resolve => setTimeout(resolve, 1.5 * POLL_SETTLED_MS))
    const copy = await lab.start('twin-copy')
    expect(copy.aid).toBe(again.aid)
    await until('the later one stopped', async () => (await hubOf(copy))?.state === 'stopped')
    expect((await hubOf(copy))?.reason).toMatch(/already runs elsewhere .*twin on /)
    expect((await hubOf(again))?.state).not.toBe('stopped')
    const stopped = expect.stringMatching(
      /already runs elsewhere .* so this copy at .* signs nothing/,
    ) as string
    expect(await copy.handlers.status(undefined, never)).toMatchObject({
      old_copy: true,
      warnings: expect.arrayContaining([stopped]) as string[],
    })
    const { length } = copy.ctx.chain
    await expect(copy.handlers.delegate({ to: bob.aid, task: 'x' }, never)).rejects.toMatchObject({
      code: 'old_copy',
      message: stopped,
    })
    expect(copy.ctx.chain.length).toBe(length)
    await delegated(alice, again, 'still here')
  })
})
