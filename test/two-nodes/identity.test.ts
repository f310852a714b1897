/** What becomes of moves, rotations, revocations and the end of an identity when something fails in between. */

import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openIdentity } from '../../daemon/identity/identity.ts'
import type { Node } from '../../daemon/node.ts'
import { lasting } from '../../daemon/store/lasting.ts'
import { ACCESS_REFUSED } from '../../daemon/store/outbox.ts'
import { startTestHub, type TestHub } from '../../hub/testing/hub.ts'
import { type Intercept, interceptHub } from './intercepted-hub.ts'
import { checkMoved, type Mover, openMover } from './move.ts'
import {
  delegated,
  killedAt,
  type Lab,
  Line,
  never,
  openLab,
  receiptSeqs,
  servedLog,
  stateOf,
  texts,
  thread,
  until,
} from './world.ts'

const DAY_MS = 86_400_000
let lab: Lab
let second: TestHub
let there: Line

beforeAll(async () => {
  lab = await openLab()
  second = await startTestHub()
  there = new Line(() => Number(new URL(second.url).port))
  await there.up()
})
afterAll(async () => {
  await lab.close()
  await there.down()
  await second.close()
})

describe('a rotation', () => {
  test('that the hub missed while it was away is shown to it as soon as it refuses the new key', async () => {
    const node = await lab.member('ruth')
    const { identity } = node.ctx
    await node.handlers.balance({}, never)
    identity.rotate(lab.hub.aid)
    expect((await node.handlers.balance({}, never)).hub).toBe(lab.hub.aid)
    expect((await servedLog(lab.line.url, node.aid))?.seq).toBe(identity.log.seq)
  })
})

describe('the end of an identity', () => {
  test('made while the hubs are down, it reaches home and previous hub, and nothing is sent or accepted after it', async () => {
    const ada = await lab.member('ada')
    const bea = await lab.member('bea')
    const id = await delegated(bea, ada, 'before the end')
    await second.running.hub.context.store.admit(ada.aid, true)
    await ada.handlers.hubRegister({ url: there.url }, never)
    await until(
      'the previous hub knows of the move',
      async () => (await servedLog(lab.line.url, ada.aid))?.home === second.aid,
    )
    await lab.line.down()
    await there.down()
    await ada.handlers.approve({ interaction_id: id }, never)
    await ada.handlers.message({ interaction_id: id, text: 'never leaves' }, never)
    const before = lab.hub.clock.now()
    const failed: unknown[] = []
    const stopListening = ada.ctx.events.listen(({ data }) => {
      if (data['state'] === 'failed') failed.push(data['interaction_id'])
    })
    await expect(ada.handlers.idDeactivate({}, never)).rejects.toMatchObject({
      code: 'credits_remain',
      message: expect.stringContaining('does not answer, and credits that are left there would be lost'),
    })
    expect(await ada.handlers.idDeactivate({ forfeit_credits: true }, never)).toMatchObject({
      state: 'deactivated',
      note: expect.stringContaining('the hub does not know of it yet'),
    })
    stopListening()
    expect(await stateOf(ada, id)).toBe('failed')
    expect(failed).toEqual([id])
    expect(ada.ctx.threads.findById(id)?.updatedAt).toBeGreaterThanOrEqual(before)
    const refused = [
      ada.handlers.message({ interaction_id: id, text: 'x' }, never),
      ada.handlers.delegate({ to: bea.aid, task: 'x' }, never),
      ada.handlers.end({ interaction_id: id }, never),
      ada.handlers.hubRegister({ url: lab.line.url }, never),
      ada.handlers.find({}, never),
      ada.handlers.idDeactivate({}, never),
    ]
    for (const attempt of refused)
      await expect(attempt).rejects.toMatchObject({ code: 'identity_deactivated' })
    expect(ada.ctx.store.get('SELECT count(*) AS n FROM outbox')).toEqual({ n: 0 })
    await ada.stop()
    const again = await lab.start('ada')
    await lab.line.up()
    await there.up()
    again.wake()
    for (const line of [there, lab.line])
      await until('the hub knows', async () => (await servedLog(line.url, ada.aid))?.deactivated === true)
    await until('its sender learns that it ended', async () => {
      bea.ctx.store.run('UPDATE outbox SET next_at = 0')
      bea.wake()
      if ((await stateOf(bea, id)) !== 'failed')
        await bea.handlers
          .message({ interaction_id: id, text: 'are you there?' }, never)
          .catch(() => undefined)
      return (await thread(bea, id)).turns.some(turn => turn.delivery?.state === 'failed')
    })
  })
})

describe('a move that a crash interrupts', () => {
  test('killed right after the new hub was chosen, it is finished by the next start', async () => {
    const fault = 'node.join.after-commit'
    const mover: Mover = await openMover(lab, second, fault)
    expect(await killedAt(lab, mover.name, fault, 'hubRegister', { url: there.url })).toBe('SIGKILL')
    await checkMoved(lab, second, mover)
  })
})

describe('the outbox', () => {
  test('is sealed anew after a rotation with the same ids and digests, also what already lay at the hub', async () => {
    const otto = await lab.member('otto')
    const ida = await lab.member('ida')
    await ida.handlers.contactAdd({ aid: otto.aid, petname: 'otto' }, never)
    const id = await delegated(otto, ida, 'first')
    await ida.stop()
    await otto.handlers.message({ interaction_id: id, text: 'at the hub' }, never)
    await until('at the hub', async () => (await thread(otto, id)).turns[1]?.delivery?.state === 'at_hub')
    await lab.line.down()
    await otto.handlers.message({ interaction_id: id, text: 'still here' }, never)
    const kept = () =>
      otto.ctx.store.all(
        "SELECT message_id, digest, number FROM messages WHERE direction = 'out' AND number > 1",
      )
    const before = kept()
    await otto.handlers.idRotate({}, never)
    expect(otto.ctx.store.get("SELECT count(*) AS n FROM outbox WHERE state = 'at_hub'")).toEqual({ n: 0 })
    await lab.line.up()
    const again = await lab.start('ida')
    otto.ctx.store.run('UPDATE outbox SET next_at = 0')
    otto.wake()
    await until('both arrive once', async () => (await texts(again, id)).includes('still here'))
    expect(await texts(again, id)).toEqual(['first', 'at the hub', 'still here'])
    expect(kept()).toEqual(before)
  })
})

describe('an unconfirmed receipt', () => {
  /** A provider that accepted the end and whose receipt cannot leave. */
  async function withReceipt(name: string): Promise<{ provider: Node; asker: Node }> {
    const provider = await lab.member(name)
    const asker = await lab.member(`${name}-asks`)
    await provider.handlers.contactAdd({ aid: asker.aid, petname: 'asker' }, never)
    const id = await delegated(asker, provider, 'soon over')
    await asker.handlers.end({ interaction_id: id }, never)
    await until('proposed', async () => (await stateOf(provider, id)) === 'end_proposed')
    await lab.line.down()
    await provider.handlers.end({ interaction_id: id, mode: 'accept' }, never)
    expect(receiptSeqs(provider)).toEqual([provider.ctx.identity.log.seq])
    return { provider, asker }
  }

  test('is made anew when the node died right after its rotation, and is signed by both', async () => {
    const { provider, asker } = await withReceipt('rhea')
    await provider.stop()
    const now = lab.hub.clock.now
    const random = (length: number) => crypto.getRandomValues(new Uint8Array(length))
    openIdentity(join(lab.folder, 'rhea'), { now, random }).rotate(lab.hub.aid)
    const again = await lab.start('rhea')
    expect(receiptSeqs(again)).toEqual([2])
    await lab.line.up()
    again.wake()
    const [row] = again.ctx.store.all<{ id: string }>('SELECT id FROM interactions')
    const interaction_id = row?.id as string
    await until('both signed', async () => {
      for (const node of [again, asker]) {
        node.ctx.store.run('UPDATE outbox SET next_at = 0')
        node.wake()
      }
      return (await again.handlers.verify({ interaction_id }, never)).counter_signed
    })
  })

  test('is made anew by a move, and by a rotation that its hub learns of late', async () => {
    const { provider: mover } = await withReceipt('rufus')
    await second.running.hub.context.store.admit(mover.aid, true)
    await mover.handlers.hubRegister({ url: there.url }, never)
    expect(receiptSeqs(mover)).toEqual([2])
    await lab.line.up()
    const { provider: late } = await withReceipt('rosa')
    await late.handlers.idRotate({}, never)
    lab.hub.clock.advance(2 * DAY_MS)
    await lab.line.up()
    late.wake()
    await until('the hub knows it', () => late.ctx.keys.isConfirmed)
    expect(lasting(late.ctx.store, 'outboxKelSeq')).toBe(2)
    second.clock.advance(lab.hub.clock.now() - second.clock.now())
  })
})

describe('a hub whose clock lies', () => {
  const year2100 = Date.UTC(2100, 0, 1)
  const floor: Intercept = route =>
    route === 'POST /register'
      ? { status: 401, body: { reason: 'ts_stale', error: 'too old', floor: year2100 } }
      : undefined
  const date: Intercept = route =>
    route === 'POST /register'
      ? {
          status: 401,
          headers: { Date: new Date(year2100).toUTCString() },
          body: { reason: 'unauthorized', error: 'the clocks differ' },
        }
      : undefined
  test.each([
    // told beside a date of the hub, which is that of this machine or not
    [
      'floor',
      floor,
      /takes no request of this identity before 2100-01-01|clock of the hub is \d+ hours behind/,
    ],
    ['Date', date, /clock of the hub is \d+ hours ahead/],
  ])(
    'is not followed to another year by its %s: no key event is made, and the reason is said',
    async (_what, lie, said) => {
      await using proxy = await interceptHub(() => second.url, lie)
      const node = await lab.start(`lied-to-${_what}`)
      await expect(node.handlers.hubRegister({ url: proxy.url }, never)).rejects.toMatchObject({
        code: 'hub_refused',
        message: expect.stringMatching(said),
      })
      expect(node.ctx.identity.log.seq).toBe(0)
    },
  )
})

describe('a hub whose clock is ahead', () => {
  test.each([
    [90, 'an hour and a half', true],
    [23 * 60, 'most of a day', false],
  ])('by %i minutes (%s) is followed by a key event: %s', async (minutes, _what, follows) => {
    const ahead = await startTestHub()
    ahead.clock.advance(lab.hub.clock.now() - ahead.clock.now() + minutes * 60_000)
    const node = await lab.start(`ahead-${minutes}`)
    await ahead.running.hub.context.store.admit(node.aid, true)
    const joining = node.handlers.hubRegister({ url: ahead.url }, never)
    if (follows) expect(await joining).toMatchObject({ status: 'registered' })
    else
      await expect(joining).rejects.toMatchObject({
        code: 'hub_refused',
        message: expect.stringMatching(/clock of the hub is 23 hours ahead/),
      })
    expect(node.ctx.identity.log.seq).toBe(follows ? 1 : 0)
    await node.stop()
    await ahead.close()
  })
})

describe('taking capabilities back', () => {
  const due = (node: Node) => node.ctx.store.get<{ n: number }>('SELECT count(*) AS n FROM revocations')?.n

  /** A node that handed capabilities to a contact, behind a proxy. */
  async function giver(name: string, url: string): Promise<{ node: Node; peer: Node; id: string }> {
    const node = await lab.start(name)
    await lab.hub.running.hub.context.store.admit(node.aid, true)
    await node.handlers.hubRegister({ url, name }, never)
    const peer = await lab.member(`${name}-friend`)
    await node.handlers.contactAdd({ aid: peer.aid, petname: 'friend' }, never)
    const id = await delegated(peer, node, 'hello')
    await node.handlers.message({ interaction_id: id, text: 'welcome' }, never)
    await until('it holds some', () => peer.ctx.capabilities.holdsAny(node.aid))
    return { node, peer, id }
  }

  test('a block made while the hub is down is told to it later, also more than a call takes', async () => {
    let isDown = false
    let calls = 0
    await using proxy = await interceptHub(
      () => lab.hub.url,
      route => {
        if (isDown) return { status: 503, body: { reason: 'unavailable', error: 'down' } }
        if (route.includes('revoke')) calls += 1
        return undefined
      },
    )
    const { node, peer, id } = await giver('bert', proxy.url)
    const issue = node.ctx.store
    issue.transaction(() => {
      for (let i = 0; i < 1200; i++)
        issue.run(
          'INSERT INTO capabilities_issued (id, peer, expires_at) VALUES (?, ?, ?)',
          crypto.getRandomValues(new Uint8Array(16)),
          peer.aid,
          node.ctx.now() + DAY_MS,
        )
    })
    isDown = true
    await node.handlers.contactBlock({ peer: 'friend', blocked: true }, never)
    await node.stop()
    const again = await lab.start('bert')
    expect(due(again)).toBeGreaterThan(1200)
    isDown = false
    again.wake()
    await until('told', () => due(again) === 0)
    expect(calls).toBe(2)
    await peer.handlers.message({ interaction_id: id, text: 'under a capability of yours' }, never)
    await until('the hub takes none of them', async () => {
      const { delivery } = (await thread(peer, id)).turns.at(-1) ?? {}
      return delivery?.state === 'queued' && delivery.reason === ACCESS_REFUSED
    })
  })

  test('where the list of the hub is full, the mailbox is made new', async () => {
    await using proxy = await interceptHub(
      () => lab.hub.url,
      route =>
        route.includes('revoke')
          ? { status: 409, body: { reason: 'revocation_list_full', error: 'full' } }
          : undefined,
    )
    const { node } = await giver('bella', proxy.url)
    const { epoch } = node.ctx.keys
    await node.handlers.contactBlock({ peer: 'friend', blocked: true }, never)
    await until('new mailbox, published', () => node.ctx.keys.epoch !== epoch && node.ctx.keys.isConfirmed)
    expect(due(node)).toBe(0)
  })
})
