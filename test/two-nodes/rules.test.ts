/** What a receiver takes from whom and remembers, and what a node asks its hub for. */

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CurrentHub } from '../../daemon/hubs/current.ts'
import type { HubClient, SealedMail, StatusItem } from '../../daemon/hubs/hub.ts'
import { openOutbox, openRelay } from '../../daemon/mail/open.ts'
import { expiryOf } from '../../daemon/maintenance.ts'
import type { Node } from '../../daemon/node.ts'
import { Clock } from '../../daemon/platform/clock.ts'
import { makeWakers } from '../../daemon/platform/waker.ts'
import { queueCapabilities } from '../../daemon/sealed/top-ups.ts'
import { counted } from '../../daemon/store/counters.ts'
import { allEntries } from '../../daemon/store/outbox.ts'
import { toBase64url } from '../../protocol/encoding/bytes.ts'
import { dackHandle } from '../../protocol/mail/dack.ts'
import { agent } from '../../protocol/testing/agents.ts'
import { delegated, type Lab, never, openPair, texts, thread, until } from './world.ts'

const HOUR_MS = 3_600_000
let lab: Lab
let alice: Node
let bob: Node

beforeAll(async () => {
  ;({ lab, alice, bob } = await openPair())
})
afterAll(() => lab.close())

const say = (node: Node, interaction_id: string, text: string) =>
  node.handlers.message({ interaction_id, text }, never)
const retryNow = (node: Node) => {
  node.ctx.store.run('UPDATE outbox SET next_at = 0')
  node.wake()
}

/** What became of a message in the end. */
async function verdictOf(node: Node, key: number): Promise<string | null> {
  await until('there is a verdict', () => {
    retryNow(node)
    return node.ctx.threads.message(key).delivery === 'failed'
  })
  return node.ctx.threads.message(key).reason
}

describe('a receiver', () => {
  test('takes capabilities outside any task from contacts and open correspondents only', async () => {
    const mallory = await lab.member('mallory')
    const before = counted(bob.ctx.store, 'foreign')
    queueCapabilities(mallory.ctx.threads, bob.aid)
    const sent = mallory.ctx.store.get<{ key: number }>('SELECT max(key) AS key FROM messages')
    expect(await verdictOf(mallory, sent?.key ?? 0)).toBe('the recipient could not use it')
    expect(counted(bob.ctx.store, 'foreign')).toBeGreaterThan(before)
    expect(bob.ctx.peers.find(mallory.aid)).toBeUndefined()
  })

  test('refuses another message under a number that it holds', async () => {
    const id = await delegated(alice, bob, 'numbers')
    await say(alice, id, 'two')
    await until('it is there', async () => (await texts(bob, id)).includes('two'))
    const { store, threads } = alice.ctx
    const { key } = threads.findById(id) as { key: number }
    store.run('UPDATE messages SET number = 90 WHERE interaction = ? AND number = 2', key)
    store.run('UPDATE interactions SET numbered = 1 WHERE key = ?', key)
    await say(alice, id, 'another two')
    const forged = store.get<{ key: number }>('SELECT key FROM messages WHERE text = ?', 'another two')
    expect(await verdictOf(alice, forged?.key ?? 0)).toBe('the recipient could not use it')
    expect(await texts(bob, id)).toEqual(['numbers', 'two'])
  })

  test('remembers what it refused until a day after no copy can come, so it does not think again', async () => {
    const erin = await lab.member('erin')
    await bob.handlers.contactBlock({ peer: erin.aid, blocked: true }, never)
    const { interaction_id: id } = await erin.handlers.delegate({ to: bob.aid, task: 'hello' }, never)
    const { key } = erin.ctx.threads.findById(id) as { key: number }
    const [first] = erin.ctx.threads.messages(key, 0, 1)
    expect(await verdictOf(erin, first?.key ?? 0)).toContain('refused by the policy of the recipient')
    const seen = () =>
      bob.ctx.store.get<{ code: number; until: number }>(
        'SELECT code, until FROM seen WHERE sender = ?',
        erin.aid,
      )
    expect(seen()?.code).toBe(1)
    const left = (seen()?.until ?? 0) - lab.hub.clock.now()
    expect(left).toBeGreaterThan((13 * 24 + 26) * HOUR_MS)
    expect(left).toBeLessThanOrEqual((14 * 24 + 26) * HOUR_MS)
    lab.hub.clock.advance(left - 60_000)
    expiryOf(bob.ctx).expire()
    expect(seen()).toBeDefined()
    lab.hub.clock.advance(120_000)
    expiryOf(bob.ctx).expire()
    expect(seen()).toBeUndefined()
  })
})

describe('a sender', () => {
  test('whose numbers are behind what its correspondent holds asks it, and goes on above them', async () => {
    const id = await delegated(alice, bob, 'from a backup')
    await say(alice, id, 'sent after the backup')
    await until('it is there', async () => (await texts(bob, id)).includes('sent after the backup'))
    const warned = async () =>
      (await alice.handlers.status(undefined, never)).warnings.some(one =>
        one.includes('restore a newer one'),
      )
    expect(await warned()).toBe(false)
    const { key } = alice.ctx.threads.findById(id) as { key: number }
    alice.ctx.store.run('UPDATE interactions SET numbered = 1 WHERE key = ?', key)
    await say(bob, id, 'I hold two')
    await until('it is read', async () => (await texts(alice, id)).includes('I hold two'))
    // Anybody could say so: only a contact is believed.
    expect(await warned()).toBe(false)
    await alice.handlers.contactAdd({ aid: bob.aid, petname: 'bob' }, never)
    await say(bob, id, 'I still hold two')
    await until('it is read', async () => (await texts(alice, id)).includes('I still hold two'))
    // it asks what the other side holds, and gives no number twice
    await until('it goes on above that', () => (alice.ctx.threads.findById(id)?.numbered ?? 0) >= 2)
    await say(alice, id, 'the third')
    await until('it arrives', async () => (await texts(bob, id)).includes('the third'))
  })

  test('brings its log and key set until a message with them is delivered, and again after they changed', async () => {
    const id = await delegated(alice, bob, 'who am I')
    await say(bob, id, 'alice')
    await until('the answer proves the delivery', async () => (await texts(alice, id)).includes('alice'))
    const brought = async (text: string) => {
      await say(alice, id, text)
      await until('it arrives', async () => (await texts(bob, id)).includes(text))
      const row = alice.ctx.store.get<{ introduces: string | null }>(
        'SELECT o.introduces FROM outbox AS o JOIN messages AS m ON m.key = o.message WHERE m.text = ?',
        text,
      )
      return row?.introduces
    }
    expect(await brought('you know me')).toBeNull()
    await alice.handlers.idRotate({}, never)
    const { seq } = alice.ctx.identity.log
    // a message of before may have brought it, sealed anew
    expect((await brought('with another key')) ?? `${seq}.`).toMatch(new RegExp(`^${seq}\\.`))
    expect(bob.ctx.peers.find(alice.aid)?.log.seq).toBe(seq)
    expect((await thread(bob, id)).turns).toHaveLength(4)
  })
})

/** A hub as far as these questions need one; anything else fails. */
const lineOf = (mail: Partial<SealedMail>): HubClient =>
  ({ stopped: undefined, identity: { wire: 3 }, mail }) as HubClient

test('a question about deliveries names one recipient, 64 messages at most, and never overlaps another', async () => {
  const asked: StatusItem[][] = []
  let open = 0
  let most = 0
  const line = lineOf({
    async deliveryStates(_kind, items) {
      most = Math.max(most, ++open)
      asked.push(items)
      await new Promise(resolve => setImmediate(resolve))
      open -= 1
      return items.map(() => ({ state: 'queued' as const }))
    },
  })
  // Registered nowhere, so that its own outbox rests.
  const { ctx } = await lab.start('asks')
  const peers = ['one', 'two'].map(name => agent(name).aid)
  ctx.store.transaction(() => {
    for (let n = 0; n < 70; n++) queueCapabilities(ctx.threads, peers[n < 66 ? 0 : 1] as string)
    ctx.store.run(
      "UPDATE outbox SET state = 'at_hub', rid = 'AAAAAAAAAAAAAAAAAAAAAA', credential = 'session', next_at = 0",
    )
  })
  const peerOf = new Map(
    allEntries(ctx.store).map(({ handleSecret, peer }) => [toBase64url(dackHandle(handleSecret)), peer]),
  )
  const hub = new CurrentHub(ctx.identity, ctx.events, new Clock(ctx.now))
  hub.settleAt(line)
  const outbox = openOutbox({ ...ctx, hub, wakers: makeWakers(ctx.timers) })
  outbox.start()
  const named = () => asked.map(items => new Set(items.map(({ handle }) => peerOf.get(toBase64url(handle)))))
  await until('both peers were asked about', () => new Set(named().flatMap(one => [...one])).size === 2)
  await outbox.stop()
  expect(most).toBe(1)
  expect(Math.max(...asked.map(items => items.length))).toBe(64)
  expect(named().every(one => one.size === 1)).toBe(true)
})

test('after_id is used inside one drain only: the next drain starts at the beginning again', async () => {
  const given: (number | undefined)[] = []
  const pages = [[7, 9], [12], []]
  const line = lineOf({
    async poll({ afterId }) {
      given.push(afterId)
      const ids = pages.shift() ?? []
      return {
        envelopes: ids.map(id => ({ id, source: [new Uint8Array(1)], acceptedAtMs: 0 })),
        more: pages.length > 0,
        held: false,
        [Symbol.dispose]: () => {},
      }
    },
    ack: async () => {},
  })
  const node = await lab.start('drains')
  const relay = openRelay(node.ctx)
  await relay.drain(line, 0)
  await relay.drain(line, 0)
  expect(given).toEqual([undefined, 9, 12, undefined])
})
