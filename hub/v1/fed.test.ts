/** Mail that other hubs hand on over wire 1: what is taken, in the order of the checks. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startTestHub, type TestHub } from '../testing/hub.ts'
import { listOpenPeer, MadeUpHub } from '../testing/open-peers.ts'
import { expectReply, type OpenAgent, Wire1Client } from '../testing/wire1.ts'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS

let hub: TestHub
let client: Wire1Client
let bob: OpenAgent
let peer: MadeUpHub
beforeAll(async () => {
  hub = await startTestHub({ wires: [1], wire1Federation: { tells: true } })
  client = new Wire1Client(hub)
  peer = new MadeUpHub(hub.clock.now())
  await peer.listen()
  await listOpenPeer(hub, peer)
})
afterAll(async () => {
  peer.close()
  await hub.close()
})
beforeEach(async () => {
  bob = await client.registered()
})

const forward = (record: unknown) => client.post('/fed/v1/forward', record)
const record = (text: string, more: Parameters<MadeUpHub['record']>[2] = {}) =>
  peer.record({ aid: bob.aid, nowMs: hub.clock.now() }, text, more)
const waiting = async (agent = bob) => (await agent.poll()).json['messages'] as Record<string, unknown>[]
async function refused(given: unknown): Promise<[number, unknown]> {
  const { status, json } = await forward(given)
  expect(json).toEqual({ error: expect.any(String), detail: expect.any(String) })
  return [status, json['error']]
}

describe('a record of a peer', () => {
  test('is queued with 202, and waits as it was handed on', async () => {
    const given = record('hello', { kind: 'result', interaction: 'task', from: 'alice' })
    const answer = await forward(given)
    expect([answer.status, answer.json]).toEqual([202, { status: 'queued' }])
    expectReply('fedForward', answer)
    expect(await waiting()).toMatchObject([
      { from_aid: 'alice', kind: 'result', interaction_id: 'task', payload: given['payload'] },
    ])
  })

  test('is a duplicate when its payload comes again within 7 days, also after a start', async () => {
    expect((await forward(record('twice'))).status).toBe(202)
    const again = async () => {
      const { status, json } = await forward(record('twice', { interaction: 'another' }))
      return [status, json['status']]
    }
    expect(await again()).toEqual([200, 'DUPLICATE'])
    await hub.restart()
    hub.clock.advance(7 * DAY_MS - MINUTE_MS)
    expect(await again()).toEqual([200, 'DUPLICATE'])
    expect(await waiting()).toHaveLength(1)
    hub.clock.advance(10 * MINUTE_MS)
    expect(await again()).toEqual([202, 'queued'])
    expect(await waiting()).toHaveLength(2)
  })

  test('is another message for somebody else, and twice at once it is one', async () => {
    const carol = await client.registered()
    await forward(record('same'))
    expect((await forward(record('same', { dest: carol.aid }))).status).toBe(202)
    const given = record('at once')
    const statuses = (await Promise.all([1, 2, 3, 4].map(() => forward(given)))).map(({ status }) => status)
    expect(statuses.sort()).toEqual([200, 200, 200, 202])
    expect(await waiting()).toHaveLength(2)
  })

  test('that found no recipient is no duplicate later', async () => {
    const { aid } = bob
    await client.post(`/agents/${aid}/deregister`, bob.sign('profile'))
    expect(await refused(record('later'))).toEqual([404, 'UNKNOWN_DESTINATION'])
    await bob.register()
    expect((await forward(record('later'))).status).toBe(202)
    await client.post(`/agents/${aid}/deregister`, bob.sign('profile'))
    expect((await forward(record('later'))).json).toEqual({ status: 'DUPLICATE' })
  })

  test('has a known version before anything else of it is read', async () => {
    expect(await refused({ v: 2 })).toEqual([400, 'VERSION_UNSUPPORTED'])
    expect(await refused({ v: 1 })).toEqual([400, 'MALFORMED'])
    expect(await refused({ v: 'one' })).toEqual([400, 'MALFORMED'])
    expect(await refused({ ...record('x'), payload: '!' })).toEqual([400, 'MALFORMED'])
    expect(await refused({ ...record('x', { hop: 4 }), payload: 'eA==' })).toEqual([400, 'HOP_EXCEEDED'])
    const { payload: _, ...without } = record('x')
    expect(await refused(without)).toEqual([400, 'MALFORMED'])
    expect(await refused({ ...record('x'), kind: 'other' })).toEqual([400, 'MALFORMED'])
  })

  test('is refused at the first of its faults, and not queued', async () => {
    const stranger = new MadeUpHub(hub.clock.now())
    const faults: [string, [number, string], Record<string, unknown>][] = [
      ['version', [400, 'VERSION_UNSUPPORTED'], { v: 3 }],
      ['peer', [403, 'POLICY_REFUSED'], { origin_hub_aid: stranger.aid }],
      ['hop', [400, 'HOP_EXCEEDED'], { hop: 4 }],
      ['loop', [400, 'HOP_EXCEEDED'], { seen_hubs: [peer.aid, hub.aid] }],
      ['payload', [400, 'MALFORMED'], { payload_cid: record('y')['payload_cid'] }],
      [
        'signature',
        [401, 'INVALID_SIGNATURE'],
        { sig: stranger.record({ aid: bob.aid, nowMs: 0 }, 'x')['sig'] },
      ],
      ['destination', [404, 'UNKNOWN_DESTINATION'], { dest_aid: peer.aid }],
    ]
    const signed = record('z', { dest: peer.aid })
    for (const [at, [name, told]] of faults.entries()) {
      const wrong = Object.assign({}, ...faults.slice(at).map(([, , members]) => members))
      expect([
        name,
        ...(await refused({ ...signed, ...wrong, ...(name === 'destination' && signed) })),
      ]).toEqual([name, ...told])
    }
    expect(await waiting()).toEqual([])
  })

  test.each([
    ['an altered sender', { from_aid: 'mallory' }],
    ['an altered kind', { kind: 'result' }],
    ['another task', { interaction_id: 'other' }],
    ['another time', { ts: 5 }],
    ['another way', { seen_hubs: [] }],
    ['fewer hops', { hop: 0 }],
    ['a key that nobody has yet', { key_state_seq: 7 }],
  ])('holds no longer with %s', async (_, members) => {
    expect(await refused({ ...record('altered'), ...members })).toEqual([401, 'INVALID_SIGNATURE'])
  })

  test('through three hubs is taken, and one that is a week old or of the future is not', async () => {
    const seenHubs = [peer.aid, 'b', 'c']
    expect((await forward(record('far', { hop: 3, seenHubs }))).status).toBe(202)
    const nowMs = hub.clock.now()
    expect(await refused(record('old', { ts: nowMs - 7 * DAY_MS - MINUTE_MS }))).toEqual([400, 'MALFORMED'])
    expect(await refused(record('new', { ts: nowMs + 6 * MINUTE_MS }))).toEqual([400, 'MALFORMED'])
    expect((await forward(record('late', { ts: nowMs - 6 * DAY_MS }))).status).toBe(202)
  })

  test('under a key that was rotated away is refused, once the new one has shown itself', async () => {
    const other = new MadeUpHub(hub.clock.now())
    await other.listen()
    await listOpenPeer(hub, other)
    const by = (text: string, kelSeq: number) =>
      other.record({ aid: bob.aid, nowMs: hub.clock.now() }, text, { kelSeq })
    expect((await forward(by('first key', 0))).status).toBe(202)
    other.rotate(hub.clock.now())
    expect((await forward(by('second key', 1))).status).toBe(202)
    expect(await refused(by('first key again', 0))).toEqual([401, 'INVALID_SIGNATURE'])
    other.close()
  })

  test('of a hub that was taken off the list is refused', async () => {
    const { peers } = hub.running.hub.context
    const listed = peers.all
    peers.replace([])
    expect(await refused(record('former'))).toEqual([403, 'POLICY_REFUSED'])
    peers.replace(listed)
  })

  test('that is larger than mail may be is refused', async () => {
    const payload = 'A'.repeat(7 * 1024 * 1024)
    expect(await refused({ ...record('large'), payload })).toEqual([400, 'MALFORMED'])
  })

  test('to an agent whose mailbox is full is not taken, and not remembered', async () => {
    const { limits } = hub.running.hub.context
    const { mailboxEnvelopesMax } = limits
    limits.mailboxEnvelopesMax = 0
    expect(await refused(record('room'))).toEqual([500, 'INTERNAL'])
    limits.mailboxEnvelopesMax = mailboxEnvelopesMax
    expect((await forward(record('room'))).status).toBe(202)
  })
})

describe('where it is off', () => {
  test('every route between hubs answers 403, whatever is asked', async () => {
    const off = await startTestHub({ wires: [1] })
    const at = new Wire1Client(off)
    const answers = [
      await at.post('/fed/v1/forward', 'no record'),
      await at.get('/fed/v1/cards'),
      await at.get('/fed/v1/reviews?cursor=x'),
    ]
    for (const { status, json } of answers)
      expect([status, json]).toEqual([403, { error: 'POLICY_REFUSED', detail: expect.any(String) }])
    const { status } = await at.post('/relay/send', {
      ...{ to_aid: bob.aid, from_aid: 'x', kind: 'message', payload: '' },
    })
    expect(status).toBe(404)
    await off.close()
  })

  test('the second switch alone closes what others read', async () => {
    const off = await startTestHub({ wires: [1], wire1Federation: { tells: false } })
    const at = new Wire1Client(off)
    expect((await at.post('/fed/v1/forward', { v: 1 })).json['error']).toBe('MALFORMED')
    for (const path of ['/fed/v1/cards', '/fed/v1/reviews'])
      expect((await at.get(path)).json['error']).toBe('POLICY_REFUSED')
    await off.close()
  })
})
