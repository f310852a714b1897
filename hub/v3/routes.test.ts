/** Tests that the route table generates: what holds for every row because it is a row. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { toBase64url } from '../../protocol/bytes.ts'
import { callBody, callPath } from '../../protocol/client.ts'
import type { RouteRow } from '../../protocol/route.ts'
import { authCodes, codes, commonCodes } from '../../protocol/wire3/codes.ts'
import { headers } from '../../protocol/wire3/headers.ts'
import { type Wire3RouteName, wire3Routes } from '../../protocol/wire3/routes.ts'
import { xwingPublicKey } from '../../protocol/xwing.ts'
import {
  type Reply,
  random,
  registeredAgent,
  request,
  startTestHub,
  TestAgent,
  type TestHub,
} from '../testing.ts'
import { cardOf } from '../testing-cards.ts'
import { sealedUnderCapability, sendHeaders } from '../testing-mail.ts'
import { reviewUpload } from '../testing-reviews.ts'

const rows = Object.entries(wire3Routes) as [Wire3RouteName, RouteRow][]
const of = (accepts: (row: RouteRow) => boolean) => rows.filter(([, row]) => accepts(row))
const jsonRows = of(row => row.request !== undefined)
const signedRows = of(row => row.auth === 'signed')

let hub: TestHub
let agent: TestAgent

beforeAll(async () => {
  hub = await startTestHub({ limits: { probationMs: 0 } })
  agent = await agentWithCard()
})
afterAll(() => hub.close())

/** An agent of whom there is everything that GET routes show. */
async function agentWithCard(): Promise<TestAgent> {
  const made = await registeredAgent(hub)
  await made.call('register', { aid: made.aid, kel: made.kel, a2a_card: cardOf(made) })
  return made
}

/** A body that its route accepts, as far as its form goes. */
function sample(name: Wire3RouteName): Record<string, unknown> {
  const bodies: Partial<Record<Wire3RouteName, () => Record<string, unknown>>> = {
    relaySession: () => ({ epk: toBase64url(xwingPublicKey(random(32))) }),
    relayPoll: () => ({ limit: 1, after_id: 0 }),
    relayAck: () => ({ items: [{ id: 1 }] }),
    relayStatus: () => ({ items: [{ rid: toBase64url(random(16)), handle: toBase64url(random(16)) }] }),
    mailboxRevoke: () => ({ cap_ids: [toBase64url(random(16))] }),
    register: () => ({ aid: agent.aid, kel: agent.kel, name: 'name' }),
    publishKeys: () => ({ keys: agent.makeKeys({ setSeq: 2 }), prev_seq: 1 }),
    pushKel: () => ({ aid: agent.aid, kel: agent.kel }),
    directoryBucket: () => ({ prefix: '', bits: 0 }),
    updateProfile: () => ({ name: 'name' }),
    setVisibility: () => ({ visibility: 'public' }),
    uploadReview: () => reviewUpload(agent, new TestAgent(hub)),
    deregister: () => ({}),
  }
  return bodies[name]?.() ?? {}
}

const pathOf = (row: RouteRow): string => callPath(row, { params: { aid: agent.aid, capability: 'any' } })

/** Sends a row's request with a body as it stands, signed where the row is. */
async function send(
  row: RouteRow,
  body: Uint8Array | undefined,
  more: { headers?: Record<string, string>; sign?: { action?: string; hub?: string } | 'none' } = {},
): Promise<Reply> {
  const path = pathOf(row)
  const bytes = body ?? new Uint8Array(0)
  const sign = more.sign ?? {}
  const signed =
    row.auth === 'signed' && sign !== 'none'
      ? agent.sign(
          sign.action ?? row.action ?? '',
          row.method,
          path,
          bytes,
          sign.hub === undefined ? {} : { hub: sign.hub },
        )
      : {}
  return await request(hub.url + path, row.method, {
    ...(row.method === 'GET' ? {} : { body: bytes }),
    headers: { ...signed, ...more.headers },
  })
}

const json = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value))
const expectRefusal = (reply: Reply, status: number, reason: string): void => {
  expect([reply.status, reply.json['reason']]).toEqual([status, reason])
  expect(reply.json['error']).toMatch(/^[^;]+; [^;]+$/)
  expect(reply.headers.get(headers.wire)).toBe('3')
}

describe('every route', () => {
  test.each(rows)('%s answers another method with not_found', async (_, row) => {
    const served = rows.filter(([, other]) => other.path === row.path).map(([, other]) => other.method)
    for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'PATCH'].filter(
      one => !served.includes(one as 'GET'),
    ))
      expectRefusal(await request(hub.url + pathOf(row), method), 404, 'not_found')
  })

  test.each(rows)('%s refuses a wire version above 3', async (_, row) => {
    expectRefusal(await send(row, json({}), { headers: { [headers.wire]: '4' } }), 400, 'wire_too_new')
  })

  test.each(rows)('%s refuses versions below 3 and none, unless browsers read it', async (_, row) => {
    for (const wire of ['2', '']) {
      const reply = await send(row, json({}), { headers: { [headers.wire]: wire } })
      if (row.method === 'GET') expect(reply.status).not.toBe(426)
      else {
        expectRefusal(reply, 426, 'wire_too_old')
        expect(reply.json).toMatchObject({ required_wire: 3, required_svc: '0.3' })
      }
    }
  })

  test.each(rows)('%s names its own codes only, none of the common ones', (_, row) => {
    expect(row.codes.filter(code => (commonCodes as readonly string[]).includes(code))).toEqual([])
  })
})

describe('every JSON route', () => {
  test.each(jsonRows)(
    '%s takes its sample, so that the refusals below have their cause',
    async (name, row) => {
      const reply = await send(row, callBody(row, sample(name)))
      expect([name, reply.json['reason']]).toEqual([name, undefined])
      if (name === 'deregister') agent = await agentWithCard()
    },
  )

  test.each(jsonRows)('%s refuses an unknown member', async (name, row) => {
    expectRefusal(await send(row, json({ ...sample(name), unknown: 1 })), 400, 'bad_request')
  })

  test.each(jsonRows)('%s refuses a member that stands twice', async (name, row) => {
    const text = JSON.stringify({ ...sample(name), last: 1 }).replace('"last":1', '"last":1,"last":1')
    expectRefusal(await send(row, Buffer.from(text)), 400, 'bad_request')
  })

  test.each(jsonRows)('%s refuses a value of the wrong type', async (name, row) => {
    for (const member of Object.keys(sample(name))) {
      const reply = await send(row, json({ ...sample(name), [member]: { wrong: true } }))
      expectRefusal(reply, 400, 'bad_request')
    }
    for (const body of ['[]', 'null', '"text"', '', '{', '\xff']) {
      expectRefusal(await send(row, Buffer.from(body, 'latin1')), 400, 'bad_request')
    }
  })

  test.each(jsonRows)('%s refuses a body over its limit, declared or not', async (_, row) => {
    const tooLong = new Uint8Array(row.limits.bodyBytes + 1).fill(32)
    expectRefusal(await send(row, tooLong), 413, 'too_large')
    const response = await fetch(hub.url + pathOf(row), {
      method: 'POST',
      headers: { [headers.wire]: '3' },
      body: new Blob([tooLong]).stream(),
      duplex: 'half',
    } as RequestInit)
    expect([response.status, ((await response.json()) as { reason: string }).reason]).toEqual([
      413,
      'too_large',
    ])
  })
})

describe('every signed route', () => {
  test.each(signedRows)('%s refuses a request without a signature', async (name, row) => {
    expectRefusal(await send(row, json(sample(name)), { sign: 'none' }), 401, 'unauthorized')
  })

  test.each(signedRows)('%s refuses a signature for another action', async (name, row) => {
    const action = row.action === 'poll' ? 'ack' : 'poll'
    expectRefusal(await send(row, json(sample(name)), { sign: { action } }), 401, 'unauthorized')
  })

  test.each(signedRows)('%s refuses a signature for another hub', async (name, row) => {
    expectRefusal(await send(row, json(sample(name)), { sign: { hub: agent.aid } }), 401, 'unauthorized')
  })

  test.each(signedRows)('%s refuses a signature over another body', async (name, row) => {
    const signed = agent.sign(row.action ?? '', row.method, pathOf(row), json({ other: true }))
    const reply = await send(row, json(sample(name)), { sign: 'none', headers: signed })
    expectRefusal(reply, 401, 'unauthorized')
  })

  test.each(signedRows.filter(([, row]) => row.path.includes('{aid}')))(
    '%s refuses a signer who is not the agent of the path',
    async (name, row) => {
      const other = await registeredAgent(hub)
      const path = pathOf(row)
      const body = json(sample(name))
      const signed = other.sign(row.action ?? '', row.method, path, body)
      expectRefusal(await request(hub.url + path, row.method, { headers: signed, body }), 401, 'unauthorized')
    },
  )
})

describe('every route without identity', () => {
  const anonymous = of(row => row.auth === 'anonymous' || row.auth === 'credential')
  test.each(anonymous)('%s refuses each identity header', async (name, row) => {
    const envelope = sealedUnderCapability(agent, agent.capability())
    const raw = row.raw === 'envelope'
    for (const header of [headers.aid, headers.seq, headers.signature]) {
      const reply = await send(row, raw ? envelope.bytes : json(sample(name)), {
        headers: { ...(raw ? sendHeaders(envelope) : {}), [header]: '1' },
      })
      expectRefusal(reply, 400, 'identity_headers_not_allowed')
    }
  })
})

describe('every GET route', () => {
  test.each(of(row => row.method === 'GET' && row.path !== wire3Routes.removedGateway.path))(
    '%s answers and refuses an unknown query member',
    async (_, row) => {
      expect((await send(row, undefined)).status).toBe(200)
      const reply = await request(`${hub.url}${pathOf(row)}?unknown=1`, 'GET')
      expectRefusal(reply, 400, 'bad_request')
    },
  )

  test.each(of(row => row.method === 'GET' && row.reply !== undefined))(
    '%s replies in its declared shape',
    async (name, row) => {
      const reply = await send(row, undefined)
      const read = row.reply?.safeParse(reply.json)
      expect([name, read?.success, read?.error?.message]).toEqual([name, true, undefined])
    },
  )
})

test.each([
  ['POST', '/agents/keys:lookup'],
  ['POST', '/agents/kel:lookup'],
  ['POST', '/a2a/v1/agents/card:lookup'],
  ['GET', '/agents/kel:push'],
  ['GET', '/p2p/peers'],
  ['POST', '/fed/v1/forward'],
  ['GET', '/fed/v2/cards'],
  ['POST', '/federation/clear'],
  ['GET', '/no/such/path'],
])('%s %s is not served', async (method, path) => {
  expectRefusal(await request(hub.url + path, method), 404, 'not_found')
})

/** Codes whose routes are still to come; this list may only get shorter. */
const WAITING = ['home_unreachable', 'not_peer', 'proof_unavailable', 'source_rate', 'unknown_destination']

test('every code stands in a row or among the common ones, but those that wait for their routes', () => {
  const named = new Set<string>([
    ...commonCodes,
    ...Object.values(authCodes).flat(),
    ...rows.flatMap(([, row]) => row.codes),
  ])
  expect(
    Object.keys(codes)
      .filter(code => !named.has(code))
      .sort(),
  ).toEqual(WAITING)
})
