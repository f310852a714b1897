/** What a sender is told about its messages, when the hub or the recipient does what it should not. */

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { Node } from '../../daemon/node.ts'
import { sealedCarriers } from '../../daemon/sealed/open.ts'
import { toBase64url } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import { kinds } from '../../protocol/mail/payload.ts'
import { type Answer, type InterceptedHub, interceptHub } from './intercepted-hub.ts'
import { delegated, inboxIds, type Lab, never, openLab, stateOf, texts, thread, until } from './world.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
let lab: Lab
let proxy: InterceptedHub
let alice: Node
let bob: Node
/** What the hub of alice says instead of itself. */
let lies: Record<string, Answer> = {}

beforeAll(async () => {
  lab = await openLab()
  proxy = await interceptHub(
    () => lab.hub.url,
    route => lies[route],
  )
  alice = await joined('alice', proxy.url)
  bob = await lab.member('bob')
  await bob.handlers.contactAdd({ aid: alice.aid, petname: 'alice' }, never)
})
afterEach(() => {
  lies = {}
})
afterAll(async () => {
  await proxy[Symbol.asyncDispose]()
  await lab.close()
})

async function joined(name: string, url: string): Promise<Node> {
  const node = await lab.start(name)
  await lab.hub.running.hub.context.store.admit(node.aid, true)
  await node.handlers.hubRegister({ url, name }, never)
  return node
}
const told = async (node: Node, id: string) => (await thread(node, id)).turns[0]?.delivery
/** Lets one task be tried or asked about at once; the others keep their times. */
const retryNow = (node: Node, id: string) => {
  const { key } = node.ctx.threads.findById(id) ?? { key: 0 }
  node.ctx.store.run('UPDATE outbox SET next_at = 0 WHERE interaction = ?', key)
  node.wake()
}
const entryOf = (node: Node, id: string) =>
  node.ctx.store.get<{
    next_at: number
    attempts: number
    resent: number
    message_id: Uint8Array
    digest: Uint8Array
  }>(
    `SELECT o.next_at, o.attempts, o.resent, m.message_id, m.digest FROM outbox AS o JOIN messages AS m ON m.key = o.message
     JOIN interactions AS i ON i.key = m.interaction WHERE i.id = ?`,
    id,
  )

/** A task that lies at the hub, and whose recipient is away. */
async function atHub(to: Node): Promise<string> {
  const { interaction_id } = await alice.handlers.delegate({ to: to.aid, task: 'lies there' }, never)
  await until('at the hub', async () => (await told(alice, interaction_id))?.state === 'at_hub')
  return interaction_id
}

describe('delivered', () => {
  test('is said on the signed word of the recipient only: neither the word of the hub nor a made-up one is enough', async () => {
    const done = (dack?: string): Answer => ({
      status: 200,
      body: { items: [{ state: 'done', ...present({ dack }) }] },
    })
    for (const [dack, reason] of [
      [undefined, 'collected, but not confirmed'],
      [toBase64url(new Uint8Array(540).fill(7)), 'collected, but the confirmation does not verify'],
    ] as const) {
      const away = await joined(`away-${reason.length}`, lab.line.url)
      await away.stop()
      const id = await atHub(away)
      lies = { 'POST /relay/status': done(dack) }
      retryNow(alice, id)
      await until('it is to be sent again', async () => (await told(alice, id))?.reason === reason)
      expect(['queued', 'at_hub']).toContain((await told(alice, id))?.state)
      lies = {}
    }
  })

  test('of what has no number is never concluded from the numbers of an answer', async () => {
    const id = await delegated(alice, bob, 'numbers')
    await bob.handlers.message({ interaction_id: id, text: 'one' }, never)
    await until('alice reads it', async () => (await texts(alice, id)).includes('one'))
    const interaction = bob.ctx.threads.findById(id)
    const loose = bob.ctx.store.transaction(() =>
      bob.ctx.threads.queue(interaction as NonNullable<typeof interaction>, {
        kind: kinds.counterSignature,
        payload: new Uint8Array(),
        text: '',
        numbered: false,
      }),
    )
    bob.ctx.store.run(
      "UPDATE outbox SET state = 'at_hub', next_at = 9e15 WHERE message = ?",
      loose.message.key,
    )
    await alice.handlers.message({ interaction_id: id, text: 'I hold all' }, never)
    await until('bob reads it', async () => (await texts(bob, id)).includes('I hold all'))
    expect((await thread(bob, id)).turns[1]?.delivery?.state).toBe('delivered')
    expect(bob.ctx.threads.message(loose.message.key).delivery).not.toBe('delivered')
    bob.ctx.threads.setDelivery(loose.message.key, 'failed', 'made for a test')
  })
})

describe('a message that waits', () => {
  test('is asked about 10 to 120 s after each question, jittered', async () => {
    const away = await joined('asked', lab.line.url)
    await away.stop()
    const id = await atHub(away)
    const pauses: number[] = []
    for (let asked = 0; asked < 6; asked++) {
      const before = entryOf(alice, id)?.attempts ?? 0
      const from = lab.hub.clock.now()
      retryNow(alice, id)
      await until('asked', () => (entryOf(alice, id)?.attempts ?? 0) > before)
      pauses.push((entryOf(alice, id)?.next_at ?? 0) - from)
    }
    for (const pause of pauses) expect(pause).toBeGreaterThanOrEqual(10_000)
    for (const pause of pauses) expect(pause).toBeLessThanOrEqual(121_000)
    expect(new Set(pauses).size).toBeGreaterThan(1)
    await alice.handlers.cancel({ interaction_id: id }, never)
  })

  test('for an unreachable hub says why and when it is tried next, later after each failure', async () => {
    lies = { 'POST /relay/send': { status: 503, body: { reason: 'unavailable', error: 'busy' } } }
    const { interaction_id: id } = await alice.handlers.delegate({ to: bob.aid, task: 'later' }, never)
    const waits: number[] = []
    for (let n = 1; n <= 6; n++) {
      await until('tried', () => (entryOf(alice, id)?.attempts ?? 0) >= n)
      waits.push((entryOf(alice, id)?.next_at ?? 0) - lab.hub.clock.now())
      retryNow(alice, id)
    }
    const last = await told(alice, id)
    expect(last).toMatchObject({
      state: 'queued',
      reason: 'the hub takes no more work just now',
      next_try_at: expect.any(Number),
    })
    expect(waits.at(-1)).toBeGreaterThan(4 * (waits[0] ?? 0))
    lies = {}
    await until('it goes', async () => {
      retryNow(alice, id)
      return (await inboxIds(bob)).includes(id)
    })
  })

  test('and expired at the hub is sent again as the same message, and taken once', async () => {
    const away = await joined('holiday', lab.line.url)
    await away.stop()
    const id = await atHub(away)
    const before = entryOf(alice, id)
    lab.hub.clock.advance(15 * DAY_MS)
    await until('it lies there again', async () => {
      if ((entryOf(alice, id)?.resent ?? 0) === 0) retryNow(alice, id)
      return (entryOf(alice, id)?.resent ?? 0) > 0 && (await told(alice, id))?.state === 'at_hub'
    })
    const after = entryOf(alice, id)
    expect(after?.message_id).toEqual(before?.message_id)
    expect(after?.digest).toEqual(before?.digest)
    const back = await lab.start('holiday')
    await until('it arrives', async () => (await inboxIds(back)).includes(id))
    expect(
      back.ctx.store.all('SELECT key FROM messages WHERE message_id = ?', before?.message_id ?? null),
    ).toHaveLength(1)
  })

  test('for nobody that any hub lists stays queued and says so, also for one that left its hub, and goes once it is back', async () => {
    const stranger = await lab.start('unlisted')
    const lost = await alice.handlers.delegate({ to: stranger.aid, task: 'who are you' }, never)
    await until(
      'the reason is there',
      async () => (await told(alice, lost.interaction_id))?.reason !== undefined,
    )
    expect(await told(alice, lost.interaction_id)).toMatchObject({
      state: 'queued',
      reason: 'no reachable hub lists the recipient',
    })
    const leaver = await joined('leaver', lab.line.url)
    const known = await delegated(alice, leaver, 'still there?')
    await leaver.handlers.hubLeave({}, never)
    const gone = await alice.handlers.delegate({ to: leaver.aid, task: 'and now?' }, never)
    const why =
      'no reachable hub knows the recipient now; it may have left its hub, and gets this once it is back'
    await until('it waits', async () => (await told(alice, gone.interaction_id))?.reason === why)
    expect(await told(alice, gone.interaction_id)).toMatchObject({ state: 'queued' })
    expect(await stateOf(alice, known)).not.toBe('failed')
    await leaver.handlers.hubRegister({ url: lab.line.url, name: 'leaver' }, never)
    await until('it arrives', async () => (await inboxIds(leaver)).includes(gone.interaction_id))
  })

  test('goes with a time outside what the recipient takes: the sender learns it and sends it again', async () => {
    // Early in an hour, so that the expiry stays one that the hub takes.
    lab.hub.clock.advance(HOUR_MS - (lab.hub.clock.now() % HOUR_MS) + 60_000)
    const { carriers } = alice.ctx
    const { over } = carriers
    const ahead = sealedCarriers({ ...alice.ctx, hubNow: () => alice.ctx.hubNow() + 6 * 60_000 })
    carriers.over = hub => ahead.over(hub)
    const { interaction_id: id } = await alice.handlers.delegate(
      { to: bob.aid, task: 'from the future' },
      never,
    )
    await until('it is at the hub', async () => (await told(alice, id))?.state === 'at_hub')
    await until('the sender learns it', async () => {
      retryNow(alice, id)
      return (
        (alice.ctx.store.get<{ resent: number }>('SELECT max(resent) AS resent FROM outbox')?.resent ?? 0) > 0
      )
    })
    expect(await inboxIds(bob)).not.toContain(id)
    carriers.over = over
    await until('taken', async () => {
      retryNow(alice, id)
      return (await inboxIds(bob)).includes(id)
    })
  })
})

describe('a message that nobody confirms', () => {
  test.each([
    ['queued here, its hub out of reach', { status: 503, body: { reason: 'unavailable', error: 'busy' } }],
    ['at the hub, its recipient away', undefined],
  ])(
    '%s: it says until when it is tried, and after these 28 days its delivery is unknown',
    async (what, refusal) => {
      const away = await joined(`gone-${what.length}`, lab.line.url)
      await away.stop()
      if (refusal !== undefined) lies = { 'POST /relay/send': refusal }
      const { interaction_id: id } = await alice.handlers.delegate({ to: away.aid, task: 'anybody' }, never)
      const waits = refusal === undefined ? 'at_hub' : 'queued'
      await until('it waits', async () => (await told(alice, id))?.state === waits)
      const giveUpAt = (await told(alice, id))?.give_up_at ?? 0
      expect(Math.abs(giveUpAt - lab.hub.clock.now() - 28 * DAY_MS)).toBeLessThan(60_000)
      lab.hub.clock.advance(28 * DAY_MS + 60_000)
      await until('given up', async () => {
        retryNow(alice, id)
        return (await told(alice, id))?.state === 'unknown'
      })
      expect(await told(alice, id)).toEqual({
        state: 'unknown',
        reason: 'not known to have arrived within 28 days, after which it is tried no more',
        reason_own: true,
      })
      expect(entryOf(alice, id)).toBeUndefined()
    },
  )
})

describe('a hub in the middle of the conversation', () => {
  test('that requires another wire version is left alone, and the status says why', async () => {
    const node = await joined('cut-off', proxy.url)
    lies = {
      'POST /relay/send': {
        status: 426,
        headers: { 'X-Svc-Wire': '4' },
        body: { reason: 'wire_too_old', error: 'x', required_wire: 4, required_svc: '0.4' },
      },
    }
    const { interaction_id: id } = await node.handlers.delegate({ to: bob.aid, task: 'x' }, never)
    const hub = async () => (await node.handlers.status(undefined, never)).hub
    await until('stopped', async () => {
      retryNow(node, id)
      return (await hub())?.state === 'stopped'
    })
    expect((await hub())?.reason).toBe('the hub speaks wire version 4, this node 3; update the older one')
    lies = {}
    retryNow(node, id)
    await expect(node.handlers.visibility({ visibility: 'public' }, never)).rejects.toMatchObject({
      code: 'hub_incompatible',
    })
    expect((await told(node, id))?.state).toBe('queued')
    // asked again, as svc doctor does, it is found to speak this wire, and the message leaves
    lies = { 'GET /hub/identity': { status: 426, headers: { 'X-Svc-Wire': '4' }, body: {} } }
    expect(await node.handlers.hubLook({}, never)).toEqual({ talking: false })
    expect((await hub())?.state).toBe('stopped')
    lies = {}
    expect(await node.handlers.hubLook({}, never)).toEqual({ talking: true })
    retryNow(node, id)
    await until('it leaves', async () => (await told(node, id))?.state !== 'queued')
    await until('it is online', async () => (await hub())?.state === 'online')
    await node.stop()
  })
})
