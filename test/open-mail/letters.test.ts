/** Open letters as a hub of wire 1 hands them out, also those that anybody may have written. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Arrived, Taker } from '../../daemon/carrier/carrier.ts'
import { openCarriers } from '../../daemon/open/open.ts'
import { random, startTestHub, type TestHub } from '../../hub/testing/hub.ts'
import { OpenAgent, Wire1Client } from '../../hub/testing/wire1.ts'
import { ForeignAnswer } from '../../protocol/contract/client.ts'
import { contentId } from '../../protocol/crypto/hash.ts'
import { toBase64, toBase64url } from '../../protocol/encoding/bytes.ts'
import type { MessageBody } from '../../protocol/mail/message.ts'
import { encodeOpen, signOpen } from '../../protocol/mail/open-message.ts'
import { bodyOf as letterBody } from './letter.ts'
import { never, type OpenNode, openNode } from './node.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const MIB = 1024 * 1024

let hub: TestHub
let client: Wire1Client
let node: OpenNode
let mallory: OpenAgent
beforeAll(async () => {
  hub = await startTestHub({ wires: [1] })
  client = new Wire1Client(hub)
  node = await openNode(hub)
  mallory = await client.registered({ name: 'mallory' })
})
afterAll(async () => {
  await node.close()
  await hub.close()
})

const taken: Arrived[] = []
const shown: Arrived[] = []
const taker: Taker = {
  earlier: () => undefined,
  showRetired: arrived => void shown.push(arrived),
  async take(arrived) {
    taken.push(arrived)
    return 'stored'
  },
}
beforeEach(() => {
  taken.length = 0
  shown.length = 0
})

const collect = () => node.carrier.collect({ waitMs: 0, signal: never }, taker)
const counted = (name: string) => node.counted(name)

const bodyOf = (from: OpenAgent, more: Partial<MessageBody> = {}) =>
  letterBody(from, { aid: node.aid, hub }, more)

type Sent = {
  body?: MessageBody
  seed?: Uint8Array
  from?: string
  interaction?: string
  payload?: Uint8Array
}
async function send(by: OpenAgent, { body = bodyOf(by), seed = by.seed, ...more }: Sent = {}): Promise<void> {
  const { interactionId } = body
  const answer = await client.post('/relay/send', {
    to_aid: node.aid,
    from_aid: more.from ?? body.from,
    kind: 'message',
    interaction_id: more.interaction ?? (interactionId === undefined ? '' : toBase64url(interactionId)),
    payload: toBase64(more.payload ?? encodeOpen(signOpen(seed, body, []))),
  })
  expect(answer.status).toBe(200)
}

test('a letter under its sender’s key is taken once, and acked', async () => {
  await send(mallory)
  expect(await collect()).toEqual({ taken: 1, held: true })
  expect(taken.map(({ body, way }) => [body.from, way])).toEqual([[mallory.aid, 'open']])
  expect(await collect()).toEqual({ taken: 0, held: true })
})

test.each<[string, (other: OpenAgent) => Sent]>([
  ['another sender', other => ({ from: other.aid })],
  ['another task', () => ({ interaction: 'another' })],
  ['no task', () => ({ interaction: '' })],
])('one of which its hub was told %s is taken for what its sender signed', async (_, given) => {
  await send(mallory, given(await client.registered({ name: 'carol' })))
  await collect()
  expect(taken.map(({ body }) => body.from)).toEqual([mallory.aid])
})

test.each<[string, (other: OpenAgent) => Sent, string]>([
  ['is signed by another key', () => ({ seed: random(32) }), 'malformed'],
  ['is for another agent', other => ({ body: bodyOf(mallory, { to: other.aid }) }), 'malformed'],
  ['is no letter', () => ({ payload: random(40), from: mallory.aid }), 'malformed'],
])('one that %s is refused, and the next one is taken', async (_, given, counter) => {
  const other = await client.registered({ name: 'carol' })
  const before = counted(counter)
  await send(mallory, given(other))
  await send(mallory)
  expect(await collect()).toMatchObject({ taken: 2 })
  expect(taken).toHaveLength(1)
  expect(counted(counter)).toBe(before + 1)
})

test('what is no letter leaves one line in the log, however much of it comes', async () => {
  for (let n = 0; n < 20; n++) await send(mallory, { payload: random(40), from: mallory.aid })
  await collect()
  expect(node.logged('letter refused')).toHaveLength(1)
})

describe('one under a key that the hub does not know yet', () => {
  const restarted = () =>
    openCarriers(node.ground).over(node.hub).collect({ waitMs: 0, signal: never }, taker)

  test.each<[string, () => Promise<OpenAgent>]>([
    ['of somebody whom it does not know', async () => new OpenAgent(client)],
    [
      'that was rotated',
      async () => {
        const carol = await client.registered({ name: 'carol' })
        carol.rotate()
        return carol
      },
    ],
  ])('%s is left there, holds nothing up, and is taken once the key is known', async (_, made) => {
    const carol = await made()
    const before = [counted('sender_awaited'), counted('sender_unknown')]
    await send(carol)
    await send(mallory)
    expect(await collect()).toEqual({ taken: 1, held: true })
    expect(await collect()).toEqual({ taken: 0, held: true })
    expect(taken.map(({ body }) => body.from)).toEqual([mallory.aid])
    await hub.running.order({ command: 'admit', aid: carol.aid })
    expect((await carol.register()).status).toBe(200)
    expect(await restarted()).toMatchObject({ taken: 1 })
    expect(taken.map(({ body }) => body.from)).toEqual([mallory.aid, carol.aid])
    expect([counted('sender_awaited'), counted('sender_unknown')]).toEqual([(before[0] ?? 0) + 1, before[1]])
  })

  test('is refused ten minutes after it was handed in', async () => {
    const before = counted('sender_unknown')
    await send(mallory, { body: bodyOf(mallory, { kelSeq: 9 }) })
    hub.clock.advance(11 * 60_000)
    await send(mallory)
    expect(await collect()).toMatchObject({ taken: 2 })
    expect([taken.length, counted('sender_unknown')]).toEqual([1, before + 1])
  })

  test('is refused where many of these wait, and holds up nothing behind it', async () => {
    for (let n = 0; n < 40; n++) await send(new OpenAgent(client))
    await send(mallory)
    expect(await restarted()).toMatchObject({ taken: 9 })
    expect(taken.map(({ body }) => body.from)).toEqual([mallory.aid])
    hub.clock.advance(11 * 60_000)
    await restarted()
  })
})

test('one that is longer than a node reads is refused, and holds up nothing behind it', async () => {
  const before = counted('malformed')
  await send(mallory, { payload: new Uint8Array(41 * MIB) })
  await send(mallory)
  expect(await collect()).toMatchObject({ taken: 2 })
  expect([taken.length, counted('malformed')]).toEqual([1, before + 1])
})

test('one with files of 39 MiB is read as a whole', async () => {
  const content = new Uint8Array(39 * MIB).fill(7)
  const file = { name: 'large', mediaType: 'text/plain', size: content.length, cid: contentId(content) }
  const body = bodyOf(mallory, { attachments: [file] })
  await send(mallory, { body, payload: encodeOpen(signOpen(mallory.seed, body, [content])) })
  expect(await collect()).toMatchObject({ taken: 1 })
  expect(taken[0]?.body.attachments).toEqual([file])
})

test.each([
  ['from a time to come', 2 * HOUR_MS],
  ['from too long ago', -60 * DAY_MS],
])('one that is dated %s is not taken', async (_, byMs) => {
  await send(mallory, { body: bodyOf(mallory, { tsMs: hub.clock.now() + byMs }) })
  await collect()
  expect(taken).toEqual([])
})

test('one under a key that was retired before it was sent is shown, and followed by nothing', async () => {
  const carol = await client.registered({ name: 'carol' })
  const [seed, old] = [carol.seed, bodyOf(carol)]
  carol.rotate()
  await carol.register()
  hub.clock.advance(HOUR_MS)
  await send(carol)
  await collect()
  taken.length = 0
  await send(carol, { seed, body: { ...old, messageId: random(16), tsMs: hub.clock.now() } })
  await collect()
  expect([taken.length, shown.length]).toEqual([0, 1])
})

test('a log that the hub does not give now is asked for again: nothing is acked meanwhile', async () => {
  const carol = await client.registered({ name: 'carol' })
  await send(carol)
  node.failLogs(true)
  await expect(collect()).rejects.toThrow('no answer')
  node.failLogs(false)
  expect(await collect()).toMatchObject({ taken: 1 })
  expect(taken).toHaveLength(1)
})

test('one whose sender the hub tells of in no known words stays there, and holds up none behind it', async () => {
  const carol = await client.registered({ name: 'carol' })
  await send(carol)
  await send(mallory)
  const { fetchLog } = node.hub
  node.hub.fetchLog = async aid => {
    if (aid === carol.aid) throw new ForeignAnswer(200, 'other words')
    return await fetchLog(aid)
  }
  await expect(collect()).rejects.toThrow('other words')
  node.hub.fetchLog = fetchLog
  expect(taken.map(({ body }) => body.from)).toEqual([mallory.aid])
  expect(await collect()).toMatchObject({ taken: 1 })
  expect(taken.map(({ body }) => body.from)).toEqual([mallory.aid, carol.aid])
})

test('a look leaves everything where it is', async () => {
  await send(mallory)
  const seen: Arrived[] = []
  const looked = await node.carrier.look({ waitMs: 0, signal: never }, arrived => void seen.push(arrived))
  expect([looked.taken, seen.length]).toEqual([1, 1])
  const { after } = looked
  const started = Date.now()
  const again = await node.carrier.look({ waitMs: 300, signal: never, after }, () => undefined)
  expect([again.taken, again.held, Date.now() - started >= 290]).toEqual([0, true, true])
  expect(await collect()).toMatchObject({ taken: 1 })
})

test('a hub that gives again what was acked holds no drain up, and is asked again a moment later', async () => {
  await send(mallory)
  const { openMail } = node.hub
  const ack = openMail?.ack
  const acked: (readonly string[])[] = []
  Object.assign(openMail as object, {
    async ack(ids: readonly string[]) {
      acked.push(ids)
    },
  })
  const started = performance.now()
  expect(await collect()).toEqual({ taken: 1, held: true })
  expect(acked).toHaveLength(1)
  expect(performance.now() - started).toBeGreaterThan(290)
  Object.assign(openMail as object, { ack })
  expect(await collect()).toMatchObject({ taken: 1 })
})

test('a poll waits for as long as it is asked to, and ends once something comes', async () => {
  const started = Date.now()
  expect(await node.carrier.collect({ waitMs: 700, signal: never }, taker)).toEqual({ taken: 0, held: true })
  expect(Date.now() - started).toBeGreaterThanOrEqual(690)
  const waiting = node.carrier.collect({ waitMs: 20_000, signal: never }, taker)
  await send(mallory)
  expect(await waiting).toMatchObject({ taken: 1 })
})
