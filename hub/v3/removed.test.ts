/** What wire 3 removed (hub API §9.7): each line of that list answers as it says there. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { toBase64url } from '../../protocol/encoding/bytes.ts'
import { ENVELOPE_TYPE } from '../../protocol/wire3/headers.ts'
import {
  callRoute,
  type Reply,
  registeredAgent,
  request,
  startTestHub,
  TestAgent,
  type TestHub,
} from '../testing/hub.ts'
import { sealedUnderCapability, sendEnvelope, sendHeaders } from '../testing/mail.ts'
import { expectRefusal } from '../testing/refusals.ts'
import { sampleBody } from '../testing/routes.ts'

let hub: TestHub
let agent: TestAgent
beforeAll(async () => {
  hub = await startTestHub()
  agent = await registeredAgent(hub)
})
afterAll(() => hub.close())

const FED = [
  'forward',
  'directory:bucket',
  'relay-status',
  'settle',
  'reviews',
  'cards',
  'clear',
  'keys',
  'kels',
  '',
]

describe('paths', () => {
  test.each([
    ...['/fed/v1/', '/fed/v2/'].flatMap(line => FED.map(name => line + name)),
    '/federation/clear',
    '/agents/keys:lookup',
    '/agents/kel:lookup',
    '/a2a/v1/agents/card:lookup',
    '/agents/{aid}/p2p',
    '/p2p/peers',
    '/agents/{aid}/card',
    '/guest/session',
    '/guest/tasks',
  ])('%s is not found, with any method, signed or not', async path => {
    const url = path.replace('{aid}', agent.aid)
    for (const method of ['GET', 'POST', 'PUT', 'DELETE']) {
      const body = method === 'POST' ? { body: '{}' } : {}
      // Where POST was removed, GET is the route of an agent with that name, which is no AID.
      const reply = await request(hub.url + url, method, body)
      const isAgent = method === 'GET' && /^\/agents\/k/.test(path)
      expectRefusal(reply, isAgent ? 'unknown_aid' : 'not_found')
      const signed = agent.sign('p2p', method, url, Buffer.from(body.body ?? ''))
      const again = await request(hub.url + url, method, { ...body, headers: signed })
      expect(again.json['reason']).toBe(isAgent ? 'identity_headers_not_allowed' : reply.json['reason'])
    }
  })

  test('the payment gateway is gone, for any agent and capability', async () => {
    for (const aid of [agent.aid, 'nobody']) {
      const reply = await request(`${hub.url}/x402/resource/${aid}/code.review`, 'GET')
      expectRefusal(reply, 'gateway_removed')
      expect(reply.headers.get('Retry-After')).toBe(null)
    }
  })

  test('keys are those of agents of this hub: nobody else is asked', async () => {
    const stranger = new TestAgent(hub)
    const reply = await callRoute(hub, 'agentKeys', undefined, { params: { aid: stranger.aid } })
    expectRefusal(reply, 'unknown_aid')
  })
})

describe('request members', () => {
  test.each([
    ['register', { invite: 'x' }, 'invite_removed'],
    ['register', { pricing: {} }, 'bad_request'],
    ['register', { card: {} }, 'bad_request'],
    ['updateProfile', { pricing: {} }, 'bad_request'],
    ['relayAck', { ids: [1] }, 'bad_request'],
  ] as const)('%s no longer takes %j', async (name, member, code) => {
    expectRefusal(await agent.call(name, { ...sampleBody(name, agent), ...member }), code)
  })

  test('ids of an ack do not stand for its items', async () => {
    expectRefusal(await agent.call('relayAck', { ids: [1] }), 'bad_request')
  })

  test('a send takes no JSON with to_aid, and no envelope as base64', async () => {
    const envelope = sealedUnderCapability(agent, agent.capability())
    const post = (type: string, body: string): Promise<Reply> =>
      request(`${hub.url}/relay/send`, 'POST', {
        headers: { ...sendHeaders(envelope), 'Content-Type': type },
        body,
      })
    const base64 = Buffer.from(envelope.bytes).toString('base64')
    expectRefusal(
      await post('application/json', JSON.stringify({ to_aid: agent.aid, envelope: base64 })),
      'bad_request',
    )
    expectRefusal(await post('text/plain', base64), 'bad_request')
    expectRefusal(await post(ENVELOPE_TYPE, base64), 'bad_envelope')
    expectRefusal(await post(ENVELOPE_TYPE, toBase64url(envelope.bytes)), 'bad_envelope')
  })
})

test('the answer to a send has neither id nor warning, the first time and again', async () => {
  const envelope = sealedUnderCapability(agent, agent.capability())
  for (const status of ['queued', 'duplicate']) {
    const { json } = await sendEnvelope(hub, envelope)
    expect(Object.keys(json).sort()).toEqual(['recipient_quiet', 'rid', 'status'])
    expect(json['status']).toBe(status)
  }
})
