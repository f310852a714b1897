/** What a node asks its hub for, seen from a hub that keeps count of the questions. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { HubLine, StatusItem } from '../daemon/hub-line.ts'
import type { Node } from '../daemon/node.ts'
import { Outbox } from '../daemon/outbox.ts'
import { Relay } from '../daemon/relay.ts'
import { queueCapabilities } from '../daemon/top-ups.ts'
import { agent } from '../protocol/testing.ts'
import { type Lab, never, openLab, until } from './two-nodes-world.ts'

let lab: Lab
let alice: Node

beforeAll(async () => {
  lab = await openLab()
  alice = await lab.member('alice')
})
afterAll(() => lab.close())

/** A hub as far as these questions need one; anything else fails. */
const lineOf = (answers: Partial<HubLine>): HubLine => ({ stopped: undefined, ...answers }) as HubLine

test('a question about deliveries names one recipient, 64 messages at most, and never overlaps another', async () => {
  const asked: { peer: string; items: StatusItem[] }[] = []
  let open = 0
  let most = 0
  const line = lineOf({
    async deliveryStates(peer, items) {
      most = Math.max(most, ++open)
      asked.push({ peer, items })
      await new Promise(resolve => setImmediate(resolve))
      open -= 1
      return items.map(() => ({ state: 'queued' as const }))
    },
  })
  // Registered nowhere, so that its own outbox rests.
  await alice.handlers.hubLeave({}, never)
  const { ctx } = alice
  const peers = ['one', 'two'].map(name => agent(name).aid)
  ctx.store.transaction(() => {
    for (let n = 0; n < 70; n++) queueCapabilities(ctx, peers[n < 66 ? 0 : 1] as string)
    ctx.store.run("UPDATE outbox SET state = 'at_hub', rid = 'AAAAAAAAAAAAAAAAAAAAAA', next_at = 0")
  })
  const outbox = new Outbox(ctx, () => line)
  outbox.start()
  await until('both peers were asked about', () => new Set(asked.map(one => one.peer)).size === 2)
  await outbox.stop()
  expect(most).toBe(1)
  expect(Math.max(...asked.map(one => one.items.length))).toBe(64)
  expect(asked.every(one => one.items.length <= (one.peer === peers[1] ? 4 : 64))).toBe(true)
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
  const relay = new Relay(
    node.ctx,
    () => line,
    () => {},
  )
  await relay.drain(line, 0)
  await relay.drain(line, 0)
  expect(given).toEqual([undefined, 9, 12, undefined])
})
