import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runIn } from '../../cli/testing.ts'
import type { Node } from '../../daemon/node.ts'
import { counted } from '../../daemon/store/counters.ts'
import { present } from '../../protocol/encoding/present.ts'
import {
  delegated,
  finished,
  inboxIds,
  type Lab,
  never,
  openPair,
  stateOf,
  texts,
  thread,
  until,
} from './world.ts'

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

describe('joining a hub', () => {
  test('a node that is not admitted is told the command for the operator', async () => {
    const carol = await lab.start('carol')
    await expect(carol.handlers.hubRegister({ url: lab.line.url }, never)).rejects.toMatchObject({
      code: 'hub_refused',
      next: expect.stringContaining(`svc-hub admit ${carol.aid}`),
    })
    expect(carol.ctx.identity.log.seq).toBe(0)
  })

  test('a registration names the hub as witness and carries its entry', async () => {
    const { log } = alice.ctx.identity
    expect(log.home).toBe(lab.hub.aid)
    expect(log.events.at(-1)?.witnesses[0]?.hub).toBe(lab.hub.aid)
  })

  test('registering again changes nothing', async () => {
    const before = alice.ctx.identity.log.seq
    const reply = await alice.handlers.hubRegister({ url: lab.line.url }, never)
    expect(reply).toMatchObject({ status: 'registered', keys_status: 'unchanged', sealed: true })
    expect(alice.ctx.identity.log.seq).toBe(before)
  })
})

describe('a task between two nodes', () => {
  test('goes from delegation through answer and end to a receipt that both signed', async () => {
    const id = await delegated(alice, bob, 'count to three')
    await say(bob, id, 'one two three')
    await until('alice reads it', async () => (await texts(alice, id)).includes('one two three'))
    await finished(alice, bob, id)
    for (const node of [alice, bob])
      expect(await node.handlers.verify({ interaction_id: id }, never)).toMatchObject({
        verdict: 'valid',
        content_checked: true,
        counter_signed: true,
        status: 'UNVERIFIED',
      })
    const types = (node: Node) => node.ctx.chain.read().map(record => record['event_type'])
    expect(types(alice)).toEqual(['svc.delegation.sent', 'svc.result.accepted'])
    expect(types(bob)).toEqual(['svc.interaction.receipt'])
  })

  test('the provider may propose the end, and two proposals that cross still end in one receipt', async () => {
    const id = await delegated(alice, bob, 'cross')
    await say(bob, id, 'done')
    await until('alice reads it', async () => (await texts(alice, id)).includes('done'))
    await Promise.all([alice, bob].map(node => node.handlers.end({ interaction_id: id }, never)))
    await until(
      'both ended',
      async () => (await stateOf(alice, id)) === 'ended' && (await stateOf(bob, id)) === 'ended',
    )
    await until('verified', async () => (await thread(alice, id)).receipt?.verified)
    expect(await bob.handlers.verify({ interaction_id: id }, never)).toMatchObject({ verdict: 'valid' })
  })

  test('without any answer the result is empty and the status FAILED', async () => {
    const id = await delegated(alice, bob, 'never answered')
    await finished(alice, bob, id)
    expect((await thread(alice, id)).receipt?.status).toBe('FAILED')
  })

  test('many messages both ways arrive once each and in order', async () => {
    const id = await delegated(alice, bob, 'talk')
    const lines = Array.from({ length: 12 }, (_, i) => `line ${i}`)
    for (const line of lines) {
      await say(alice, id, `a ${line}`)
      await say(bob, id, `b ${line}`)
    }
    for (const node of [alice, bob])
      await until('all there', async () => (await texts(node, id)).length === 1 + 2 * lines.length)
    for (const [node, who] of [
      [alice, 'b'],
      [bob, 'a'],
    ] as const) {
      const received = (await thread(node, id)).turns.filter(
        turn => !turn.mine && turn.text.startsWith(`${who} `),
      )
      expect(received.map(turn => turn.text)).toEqual(lines.map(line => `${who} ${line}`))
    }
    await finished(alice, bob, id)
  })

  test('an answer proves the delivery of what it answers at once', async () => {
    const id = await delegated(alice, bob, 'proof')
    await say(bob, id, 'here')
    await until('delivered', async () => (await thread(alice, id)).turns[0]?.delivery?.state === 'delivered')
  })

  test('after its end a side sends nothing more', async () => {
    const id = await delegated(alice, bob, 'short')
    await alice.handlers.end({ interaction_id: id }, never)
    await expect(say(alice, id, 'one more thing')).rejects.toMatchObject({ code: 'wrong_state' })
  })

  test('attachments arrive whole and are saved under their names, with the documents beside them', async () => {
    const file = join(lab.folder, 'notes.txt')
    writeFileSync(file, 'x'.repeat(300_000))
    const { interaction_id } = await alice.handlers.delegate(
      { to: 'bob', task: 'read this', attach: [file] },
      never,
    )
    await until('bob has it', async () => (await inboxIds(bob)).includes(interaction_id))
    const out = mkdtempSync(join(tmpdir(), 'svc-pull-'))
    const saved = await bob.handlers.pull({ interaction_id, out }, never)
    expect(saved.files.map(one => one.name).sort()).toEqual(['notes.txt', 'request.json'])
    expect(readFileSync(join(out, 'notes.txt'), 'utf8')).toHaveLength(300_000)
  })

  test('the same idempotency key delegates once, and is refused for other content', async () => {
    const order = { to: 'bob', task: 'only once', idempotency_key: 'k1' }
    const first = await alice.handlers.delegate(order, never)
    const again = await alice.handlers.delegate(order, never)
    expect(again.interaction_id).toBe(first.interaction_id)
    await expect(alice.handlers.delegate({ ...order, task: 'other' }, never)).rejects.toMatchObject({
      code: 'idempotency_conflict',
    })
  })

  test('a capability that nobody serves ends as UNAVAILABLE with a receipt', async () => {
    const order = { to: 'bob', capability: 'text.count', args: { text: 'a b' }, wait_s: 10 }
    const { interaction_id } = await alice.handlers.delegate(order, never)
    await until('ended', async () => (await thread(alice, interaction_id)).receipt?.verified)
    expect((await thread(alice, interaction_id)).receipt?.status).toBe('UNAVAILABLE')
    const [effect] = bob.ctx.chain.read({ eventType: 'svc.capability.effect' })
    expect(effect?.['payload']).toMatchObject({
      status: 'UNAVAILABLE',
      capability: 'text.count',
      verifiable: false,
    })
  })

  test('a name that is not a contact lists directory matches and the command that adds one', async () => {
    const removed = await alice.handlers.contactRemove({ peer: 'bob' }, never)
    expect(removed).toMatchObject({ petname: 'bob', removed: true })
    const refused = alice.handlers.delegate({ to: 'bob', task: 'x' }, never)
    await expect(refused).rejects.toMatchObject({
      code: 'unknown_peer',
      message: expect.stringContaining(`svc contact add ${bob.aid} bob`),
    })
    await alice.handlers.contactAdd({ aid: bob.aid, petname: 'bob' }, never)
  })

  test('the provider can decline and the requester can cancel', async () => {
    const declined = await delegated(alice, bob, 'no thanks')
    await bob.handlers.decline({ interaction_id: declined, reason: 'busy' }, never)
    await until('alice knows', async () => (await stateOf(alice, declined)) === 'declined')
    expect((await thread(alice, declined)).reason).toBe('busy')
    const cancelled = await delegated(alice, bob, 'changed my mind')
    await alice.handlers.cancel({ interaction_id: cancelled }, never)
    await until('bob knows', async () => (await stateOf(bob, cancelled)) === 'cancelled')
  })

  test('one that its recipient lost is delegated anew from the command line, and each names the other', async () => {
    const id = await delegated(alice, bob, 'count the stars')
    const lost = alice.ctx.threads.findById(id)
    if (lost === undefined) throw new Error('no task')
    alice.ctx.store.transaction(() => alice.ctx.threads.update(lost, { lostByPeerAt: 1 }))
    const svc = () => runIn(join(lab.folder, 'alice'), ['anew', id])
    const { code, out } = await svc()
    const { interaction_id: anew, anew_of } = JSON.parse(out)
    expect([code, anew_of]).toEqual([0, id])
    await until('it arrives', async () => (await inboxIds(bob)).includes(anew))
    expect(await texts(bob, anew)).toEqual(['count the stars'])
    expect(await thread(alice, id)).toMatchObject({ anew_as: anew })
    expect(JSON.parse((await svc()).out).interaction_id).toBe(anew)
    await expect(alice.handlers.anew({ interaction_id: anew }, never)).rejects.toMatchObject({
      code: 'wrong_state',
    })
  })

  test('own history is searched by text', async () => {
    const found = await bob.handlers.inbox({ q: 'count to' }, never)
    expect(found.items).toHaveLength(1)
  })

  test('the whole history, of both sides, is searched for words, page by page', async () => {
    const id = await delegated(alice, bob, 'weigh the zebra')
    await until('open', async () => (await inboxIds(bob)).includes(id))
    await bob.handlers.message({ interaction_id: id, text: 'the zebra weighs a lot' }, never)
    const search = (node: Node, more: object = {}) => node.handlers.search({ words: 'zebra', ...more }, never)
    await until('answered', async () => (await search(alice)).matches.length === 2)
    const { matches, next_cursor: cursor } = await search(alice, { limit: 1 })
    expect(matches).toMatchObject([
      {
        interaction_id: id,
        side: 'sent',
        peer: bob.aid,
        from: bob.aid,
        mine: false,
        turn: 2,
        text: 'the zebra weighs a lot',
      },
    ])
    const within = await search(alice, { interaction_id: id })
    expect(within.matches.map(({ turn }) => turn)).toEqual([2, 1])
    expect((await search(alice, { interaction_id: 'A'.repeat(22) })).matches).toEqual([])
    const rest = await search(alice, { limit: 1, cursor })
    expect([rest.matches[0]?.mine, rest.next_cursor]).toEqual([true, undefined])
    expect((await search(bob)).matches.map(({ side, mine }) => [side, mine])).toEqual([
      ['received', true],
      ['received', false],
    ])
    await expect(search(bob, { cursor: 'x' })).rejects.toMatchObject({ code: 'bad_request' })
    for (const words of ['*', '""', ' '])
      await expect(search(bob, { words })).rejects.toMatchObject({
        code: 'bad_request',
        message: expect.stringMatching(/^search takes words/),
      })
  })
})

describe('strangers', () => {
  test('a task under an id that another interaction has is refused, so an id names one party', async () => {
    const id = await delegated(alice, bob, 'mine')
    const mallory = await lab.member('mallory')
    const before = counted(bob.ctx.store, 'foreign')
    const made = await mallory.handlers.delegate({ to: bob.aid, task: 'held back' }, never)
    mallory.ctx.store.run("UPDATE outbox SET next_at = 9e15 WHERE state = 'queued'")
    await until('it arrived', async () => (await inboxIds(bob)).includes(made.interaction_id))
    const { threads, store } = mallory.ctx
    store.transaction(() => {
      const created = threads.create({
        ...threads.byKey(threads.findById(made.interaction_id)?.key as number),
        id,
      } as Parameters<typeof threads.create>[0])
      const first = threads.messages(threads.findById(made.interaction_id)?.key as number)[0]
      if (first === undefined) throw new Error('no first message')
      threads.queue(created, { kind: 0, payload: first.payload, text: 'mine too', numbered: true })
    })
    await until('it is refused', () => counted(bob.ctx.store, 'foreign') > before)
    expect(bob.ctx.threads.findById(id)?.peer).toBe(alice.aid)
  })

  test('a task of a stranger waits for approval and takes no more than the allowed messages', async () => {
    const dave = await lab.member('dave')
    await bob.handlers.hubRegister({ url: lab.line.url, guest_messages: 2 }, never)
    const id = await delegated(dave, bob, 'let me in')
    expect(await stateOf(bob, id)).toBe('pending')
    const waiting = async () =>
      (await bob.handlers.inbox({ pending: true }, never)).items.map(item => item.interaction_id)
    expect(await waiting()).toContain(id)
    await say(dave, id, 'please')
    await until('it is there', async () => (await texts(bob, id)).length === 2)
    await say(dave, id, 'pretty please')
    await until('dave is told', async () => (await thread(dave, id)).turns[2]?.delivery?.reason !== undefined)
    expect(await texts(bob, id)).toHaveLength(2)
    await bob.handlers.approve({ interaction_id: id }, never)
    expect(await waiting()).not.toContain(id)
    await say(bob, id, 'come in')
    await until('dave reads it', async () => (await texts(dave, id)).includes('come in'))
    dave.ctx.store.run('UPDATE outbox SET next_at = 0')
    dave.wake()
    await until('the rest follows under a capability', async () => (await texts(bob, id)).length === 4)
    await bob.handlers.hubRegister({ url: lab.line.url, guest_messages: 5 }, never)
  })

  test('a task of a stranger that proposes its end still waits for approval: nothing is written or signed before', async () => {
    const dora = await lab.member('dora')
    const id = await delegated(dora, bob, 'in and out')
    await dora.handlers.end({ interaction_id: id }, never)
    await until('bob has the end', () => bob.ctx.threads.findById(id)?.endBy === 'peer')
    const waits = {
      code: 'wrong_state',
      message: expect.stringMatching(/^this task waits for your approval/),
      next: `svc approve ${id}\nsvc decline ${id}`,
    }
    for (const mode of [undefined, 'accept', 'either', 'propose'] as const) {
      const given = { interaction_id: id, ...present({ mode }) }
      await expect(bob.handlers.end(given, never)).rejects.toMatchObject(waits)
      await expect(bob.handlers.end({ ...given, note: 'bye' }, never)).rejects.toMatchObject(waits)
    }
    await expect(say(bob, id, 'hello')).rejects.toMatchObject(waits)
    expect(bob.ctx.threads.findById(id)).toMatchObject({ state: 'pending', receipt: null, ownLast: null })
    await bob.handlers.approve({ interaction_id: id }, never)
    await bob.handlers.end({ interaction_id: id, mode: 'accept' }, never)
    await until('both signed', async () => (await thread(dora, id)).receipt?.verified === true)
    const turned = await delegated(dora, bob, 'not this one')
    await expect(dora.handlers.verify({ interaction_id: turned }, never)).rejects.toMatchObject({
      code: 'no_receipt',
      next: expect.stringContaining('both sides must end first'),
    })
    await bob.handlers.decline({ interaction_id: turned }, never)
    await until('dora knows', async () => (await stateOf(dora, turned)) === 'declined')
    await expect(dora.handlers.verify({ interaction_id: turned }, never)).rejects.toMatchObject({
      code: 'no_receipt',
      message: 'this task is declined; it has no receipt and gets none',
    })
  })

  test('a blocked agent and a closed door are refused, and the sender learns it', async () => {
    const erin = await lab.member('erin')
    await bob.handlers.contactBlock({ peer: erin.aid, blocked: true }, never)
    const { interaction_id } = await erin.handlers.delegate({ to: bob.aid, task: 'hello' }, never)
    await until(
      'at the hub',
      async () => (await thread(erin, interaction_id)).turns[0]?.delivery?.state === 'at_hub',
    )
    await until('failed', async () => {
      erin.ctx.store.run('UPDATE outbox SET next_at = 0')
      erin.wake()
      return (await stateOf(erin, interaction_id)) === 'failed'
    })
    expect((await thread(erin, interaction_id)).reason).toContain('can ask to be added as a contact')
    expect((await inboxIds(bob)).includes(interaction_id)).toBe(false)
  })
})

describe('rotation', () => {
  test('a rotated provider goes on, and the old receipt is valid under a retired key', async () => {
    const id = await delegated(alice, bob, 'before')
    await say(bob, id, 'answer')
    await finished(alice, bob, id)
    const open = await delegated(alice, bob, 'spans the rotation')
    expect(await bob.handlers.idRotate({}, never)).not.toHaveProperty('note')
    expect(await bob.handlers.verify({ interaction_id: id }, never)).toMatchObject({
      verdict: 'valid_retired_key',
      counter_signed: true,
    })
    expect(await alice.handlers.verify({ interaction_id: id }, never)).toMatchObject({
      verdict: 'valid_retired_key',
      key_checked: true,
    })
    await say(bob, open, 'under the new key')
    await until('alice reads it', async () => (await texts(alice, open)).includes('under the new key'))
    await finished(alice, bob, open)
    expect(await alice.handlers.verify({ interaction_id: open }, never)).toMatchObject({ verdict: 'valid' })
    expect(await alice.handlers.verify({ interaction_id: id }, never)).toMatchObject({
      verdict: 'valid_retired_key',
    })
  })

  test('a requester that can reach no hub says of which key it speaks', async () => {
    const id = await delegated(alice, bob, 'which key')
    await say(bob, id, 'answer')
    await finished(alice, bob, id)
    await lab.line.down()
    expect(await alice.handlers.verify({ interaction_id: id }, never)).toMatchObject({
      verdict: 'valid',
      key_checked: false,
      says: expect.stringContaining('no hub could say whether it has rotated its key since'),
    })
    expect(await bob.handlers.verify({ interaction_id: id }, never)).toMatchObject({
      verdict: 'valid',
      key_checked: true,
      says: expect.stringContaining('with its current key'),
    })
    await lab.line.up()
  })

  test('a rotated requester is still answered', async () => {
    const id = await delegated(alice, bob, 'who am I')
    await alice.handlers.idRotate({}, never)
    await say(bob, id, 'alice')
    await until('alice reads it', async () => (await texts(alice, id)).includes('alice'))
    await finished(alice, bob, id)
  })
})

describe('when the hub cannot be reached', () => {
  test('tasks and messages are taken at once, delivered later, and survive a restart of the node', async () => {
    const frank = await lab.member('frank')
    await lab.line.down()
    const { interaction_id, state } = await frank.handlers.delegate({ to: bob.aid, task: 'patience' }, never)
    expect(state).toBe('queued')
    await frank.stop()
    const again = await lab.start('frank')
    expect(await stateOf(again, interaction_id)).toBe('queued')
    expect(again.aid).toBe(frank.aid)
    await lab.line.up()
    again.ctx.store.run('UPDATE outbox SET next_at = 0')
    again.wake()
    await until('bob has it', async () => (await inboxIds(bob)).includes(interaction_id))
  })

  test('a rotation made while the hub is down says so, and gets through when it is back', async () => {
    const grace = await lab.member('grace')
    await lab.line.down()
    expect(await grace.handlers.idRotate({}, never)).toMatchObject({
      state: 'rotated',
      note: expect.stringMatching(
        /^the hub does not know of it yet \(hub unreachable: .*\); the node goes on telling it$/,
      ),
    })
    expect(grace.ctx.identity.log.seq).toBe(2)
    await grace.stop()
    await lab.line.up()
    const again = await lab.start('grace')
    await until('the hub has it', async () => again.ctx.identity.log.events.at(-1)?.witnesses.length === 1)
    await delegated(again, bob, 'after the outage')
  })
})

describe('clocks', () => {
  test('a node whose clock is an hour slow registers, writes and is written to, and signs a receipt', async () => {
    const slow = await lab.start('slow', {}, -3_600_000)
    await lab.hub.running.hub.context.store.admit(slow.aid, true)
    expect(await slow.handlers.hubRegister({ url: lab.line.url }, never)).toMatchObject({
      status: 'registered',
    })
    await slow.handlers.contactAdd({ aid: bob.aid, petname: 'bob' }, never)
    const id = await delegated(bob, slow, 'what time is it')
    await say(slow, id, 'an hour less')
    await until('bob reads it', async () => (await texts(bob, id)).includes('an hour less'))
    await finished(bob, slow, id)
  })

  test('one that was made an hour ahead is made anew at the time of the hub, and nothing is dated ahead of it', async () => {
    const fast = await lab.start('fast', {}, 3_600_000)
    const made = fast.aid
    const join = () => fast.handlers.hubRegister({ url: lab.line.url }, never)
    await expect(join()).rejects.toMatchObject({ code: 'hub_refused' })
    const { identity } = fast.ctx
    expect(identity.aid).not.toBe(made)
    await lab.hub.running.hub.context.store.admit(identity.aid, true)
    expect(await join()).toMatchObject({ status: 'registered' })
    expect(Math.abs(identity.log.ts - lab.hub.clock.now())).toBeLessThan(60_000)
    fast.ctx.chain.append('svc.test', { n: 1 })
    const [record] = fast.ctx.chain.read({ eventType: 'svc.test' })
    expect(Math.abs(Number(record?.['timestamp']) - lab.hub.clock.now())).toBeLessThan(60_000)
  })

  test.each([-48, 48])('that differ by %i hours let a task out, and the warning says so', async hours => {
    const name = `apart${hours}`
    const before = await lab.member(name)
    await before.handlers.contactAdd({ aid: bob.aid, petname: 'bob' }, never)
    await bob.handlers.contactAdd({ aid: before.aid, petname: name }, never)
    await finished(before, bob, await delegated(before, bob, 'while the clock is right'))
    await before.stop()
    const node = await lab.start(name, {}, hours * 3_600_000)
    const hubState = async () => (await node.handlers.status(undefined, never)).hub
    await until('no mail is fetched', async () => /clock/.test((await hubState())?.reason ?? ''))
    const ask = () => node.handlers.delegate({ to: 'bob', task: 'later', idempotency_key: 'k' }, never)
    await until('it is out', async () =>
      ['at_hub', 'delivered'].includes((await ask()).delivery?.state ?? ''),
    )
    expect((await ask()).warning).toMatch(
      /^no mail can be fetched from the hub now \(the clock of the hub is .*\); this went out, and what comes back waits there until then$/,
    )
  })

  test('one whose event a hub has seen is told from when on another hub takes it', async () => {
    const seen = await lab.member('seen')
    seen.ctx.identity.rotate(undefined, lab.hub.clock.now() + 3 * 86_400_000)
    await expect(seen.handlers.hubRegister({ url: lab.line.url }, never)).rejects.toMatchObject({
      code: 'hub_refused',
      message: expect.stringMatching(/dated 72 hours ahead of the hub.*takes it from 20/),
    })
  })
})

describe('a receipt', () => {
  test('that overtakes the last message of the provider waits for it and is signed by both then', async () => {
    const id = await delegated(alice, bob, 'in a hurry')
    await say(bob, id, 'done')
    await until('alice reads it', async () => (await texts(alice, id)).includes('done'))
    await alice.handlers.end({ interaction_id: id }, never)
    await until('proposed', async () => (await stateOf(bob, id)) === 'end_proposed')
    const { store } = bob.ctx
    store.transaction(() => {
      void bob.handlers.end({ interaction_id: id, mode: 'accept' }, never)
      const key = bob.ctx.threads.findById(id)?.key as number
      store.run(
        "UPDATE outbox SET state = 'at_hub', rid = 'held back', next_at = 9e15 WHERE message = (SELECT key FROM messages WHERE interaction = ? AND kind = 4)",
        key,
      )
    })
    await until('the receipt waits', () => alice.ctx.threads.findById(id)?.receiptState === 'waiting')
    expect(await stateOf(alice, id)).toBe('end_proposed')
    store.run("UPDATE outbox SET state = 'queued', next_at = 0 WHERE rid = 'held back'")
    bob.wake()
    await until('both signed', async () => (await thread(alice, id)).receipt?.verified)
    expect(await stateOf(alice, id)).toBe('ended')
  })
})

describe('what no receipt can name', () => {
  test('more than 1,024 missing messages of the requester: the task ends without a receipt and says so', async () => {
    const id = await delegated(alice, bob, 'a great gap')
    alice.ctx.store.run('UPDATE interactions SET numbered = 1500 WHERE id = ?', id)
    await alice.handlers.end({ interaction_id: id }, never)
    await until('proposed', async () => (await stateOf(bob, id)) === 'end_proposed')
    await bob.handlers.end({ interaction_id: id, mode: 'accept' }, never)
    expect(await thread(bob, id)).toMatchObject({
      state: 'ended',
      reason: 'no receipt: too many messages are missing',
    })
    await expect(bob.handlers.verify({ interaction_id: id }, never)).rejects.toMatchObject({
      code: 'no_receipt',
    })
  })

  test('more than 1,024 undelivered messages of the provider: the same', async () => {
    const id = await delegated(alice, bob, 'a great silence')
    bob.ctx.store.run('UPDATE interactions SET numbered = 1500 WHERE id = ?', id)
    await lab.line.down()
    await say(bob, id, 'lost')
    const interaction = bob.ctx.threads.findById(id)
    const message = bob.ctx.threads.byNumber(interaction?.key ?? 0, 'out', 1501)
    bob.ctx.threads.setDelivery(message?.key ?? 0, 'failed', 'for the test')
    await lab.line.up()
    await bob.handlers.end({ interaction_id: id }, never)
    bob.ctx.store.run('UPDATE outbox SET next_at = 0')
    bob.wake()
    await until('proposed', async () => (await stateOf(alice, id)) === 'end_proposed')
    await alice.handlers.end({ interaction_id: id, mode: 'accept' }, never)
    alice.ctx.store.run('UPDATE outbox SET next_at = 0')
    alice.wake()
    await until('ended', async () => (await stateOf(bob, id)) === 'ended')
    expect((await thread(bob, id)).reason).toBe('no receipt: too many messages are missing')
  })
})

describe('a deactivated identity', () => {
  test('is sealed nothing more', async () => {
    const gone = await lab.member('gone')
    await delegated(gone, bob, 'before')
    await gone.handlers.idDeactivate({ forfeit_credits: true }, never)
    bob.ctx.peers.learn(gone.ctx.identity.log, undefined)
    const { interaction_id } = await bob.handlers.delegate({ to: gone.aid, task: 'too late' }, never)
    await until('it failed', async () => (await stateOf(bob, interaction_id)) === 'failed')
    expect((await thread(bob, interaction_id)).reason).toBe('the recipient deactivated its identity')
  })
})
