/** The order of checks: cheap ones first, the same for every route (the way of a request). */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { toBase64url } from '../../protocol/encoding/bytes.ts'
import { ACCESS_HEADER_BYTES_MAX, headers } from '../../protocol/wire3/headers.ts'
import {
  random,
  registeredAgent,
  request,
  startTestHub,
  type TestAgent,
  type TestHub,
} from '../testing/hub.ts'
import { sealedUnderCapability, sendHeaders } from '../testing/mail.ts'
import { bodyOf, pathOf, rows, sendRow } from '../testing/routes.ts'

let hub: TestHub
let agent: TestAgent
beforeAll(async () => {
  hub = await startTestHub({ limits: { requestRate: { perSecond: 1 / 60, burst: 1 } } })
  agent = await registeredAgent(hub)
})
afterAll(() => hub.close())

let lastAddress = 0
/** An address whose bucket is empty. */
async function emptied(): Promise<string> {
  lastAddress += 1
  const address = `198.51.100.${lastAddress}`
  await request(`${hub.url}/healthz`, 'GET', { headers: { 'X-Forwarded-For': address } })
  return address
}

type Fault = { code: string; headers?: Record<string, string>; path?: string; body?: Uint8Array }

describe('of a request with many faults the first in this order is told', () => {
  test.each(rows.filter(([, row]) => row.request !== undefined))('%s', async (name, row) => {
    const identity = row.auth === 'anonymous'
    const faults: Fault[] = [
      { code: 'rate_limited', headers: { 'X-Forwarded-For': await emptied() } },
      { code: 'wire_too_new', headers: { [headers.wire]: '4' } },
      { code: 'not_found', path: '/no/such/path' },
      ...(identity ? [{ code: 'identity_headers_not_allowed', headers: { [headers.seq]: '1' } }] : []),
      { code: 'bad_request', path: `${pathOf(row, agent)}?unknown=1` },
      { code: 'too_large', body: new Uint8Array(row.limits.bodyBytes + 1) },
      { code: 'bad_request', body: Buffer.from('{') },
      ...(row.auth === 'signed' ? [{ code: 'unauthorized' }] : []),
    ]
    const told = []
    for (let first = 0; first < faults.length; first++) {
      const present = faults.slice(first)
      const path = present.find(fault => fault.path !== undefined)?.path
      const reply = await sendRow(name, agent, {
        body: present.find(fault => fault.body !== undefined)?.body ?? bodyOf(name, agent),
        headers: Object.assign({}, ...present.map(fault => fault.headers)),
        ...(path === undefined ? {} : { path }),
        ...(row.auth === 'signed' ? { sign: { hub: agent.aid } } : {}),
      })
      told.push(reply.json['reason'])
    }
    expect(told).toEqual(faults.map(({ code }) => code))
  })
})

test.each<[string, string, { path?: string; headers?: Record<string, string> }]>([
  ['to a path that is not there', 'not_found', { path: '/nosuch' }],
  ['of a version that is not spoken', 'wire_too_new', { headers: { [headers.wire]: '4' } }],
  [
    'with an identity where none is taken',
    'identity_headers_not_allowed',
    { headers: { [headers.seq]: '1' } },
  ],
  ['with a body of another type', 'bad_request', { headers: { 'Content-Type': 'text/plain' } }],
])('a send %s counts for its address like any other request', async (_, code, given) => {
  lastAddress += 1
  const from = { 'X-Forwarded-For': `198.51.100.${lastAddress}` }
  const sent = sealedUnderCapability(agent, agent.capability())
  const told = []
  for (let at = 0; at < 2; at++) {
    const all = { ...sendHeaders(sent), ...given.headers, ...from }
    const path = given.path === undefined ? {} : { path: given.path }
    const reply = await sendRow('relaySend', agent, { body: sent.bytes, headers: all, ...path })
    told.push(reply.json['reason'])
  }
  expect(told).toEqual([code, 'rate_limited'])
})

test('a credential of more than 1 KiB is refused by its header, before any byte of the body', async () => {
  const envelope = sealedUnderCapability(agent, agent.capability())
  const given = sendHeaders(envelope)
  for (const count of [ACCESS_HEADER_BYTES_MAX, ACCESS_HEADER_BYTES_MAX + 1]) {
    const access = { [headers.access]: toBase64url(random(count)) }
    const reply = await sendRow('relaySend', agent, { body: random(10), headers: { ...given, ...access } })
    expect([reply.status, reply.json['reason']]).toEqual([403, 'access_invalid'])
  }
})
