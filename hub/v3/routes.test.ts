/** Tests that the route table generates: what holds for every row because it is a row. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type * as z from 'zod'
import type { RouteRow } from '../../protocol/contract/route.ts'
import { fromBase64url } from '../../protocol/encoding/bytes.ts'
import { headers } from '../../protocol/wire3/headers.ts'
import type { Wire3RouteName } from '../../protocol/wire3/routes.ts'
import { engine } from '../engine.ts'
import {
  random,
  registeredAgent,
  request,
  startTestHub,
  type TestAgent,
  type TestHub,
} from '../testing/hub.ts'
import { sealedUnderCapability, sendHeaders } from '../testing/mail.ts'
import { expectRefusal } from '../testing/refusals.ts'
import { cardBody, pathOf, peerOf, rows, sampleBody, sampleQuery, sendRow } from '../testing/routes.ts'
import { nextReply, openSocket, requestHead } from '../testing/sockets.ts'
import { namedWitness, statementAt, statementOf } from '../testing/witnesses.ts'

const of = (accepts: (row: RouteRow) => boolean) => rows.filter(([, row]) => accepts(row))
const jsonRows = of(row => row.request !== undefined)
/** Those of peers stand with federation. */
const signedRows = of(row => row.auth === 'signed' && row.signedBy !== 'hub')

const DAY_MS = 86_400_000
let hub: TestHub
let agent: TestAgent
let witness: TestAgent

beforeAll(async () => {
  hub = await startTestHub({ limits: { probationMs: 0 } })
  witness = await namedWitness(hub)
  agent = await agentWithCard()
})
afterAll(() => hub.close())

/** An agent of whom there is everything that GET routes show. */
async function agentWithCard(): Promise<TestAgent> {
  const made = await registeredAgent(hub)
  await made.call('register', cardBody(made))
  return made
}

const json = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value))
const sample = (name: Wire3RouteName): Record<string, unknown> =>
  name === 'witness' ? statementAt(hub, witness) : sampleBody(name, agent)
/** Members of an object shape, and whether `value` fits each. */
const members = (shape: z.ZodType | undefined): [string, z.ZodType][] =>
  shape !== undefined && 'shape' in shape ? Object.entries(shape.shape as Record<string, z.ZodType>) : []

describe('every route', () => {
  test.each(rows)('%s answers another method with not_found', async (_, row) => {
    const served = rows.filter(([, other]) => other.path === row.path).map(([, other]) => other.method)
    for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'PATCH'].filter(
      one => !served.includes(one as 'GET'),
    ))
      expectRefusal(await request(hub.url + pathOf(row, agent), method), 'not_found')
  })

  test.each(rows)('%s refuses a wire version above 3', async name => {
    for (const wire of ['4', '99'])
      expectRefusal(await sendRow(name, agent, { headers: { [headers.wire]: wire } }), 'wire_too_new')
  })

  test.each(rows)(
    '%s refuses versions below 3, none and no number, unless browsers read it',
    async (name, row) => {
      const browsers =
        row.method === 'GET' && !row.path.startsWith('/relay/') && !row.path.startsWith('/fed/')
      for (const wire of ['2', '', '3.0', 'NaN', '-1', '3, 3']) {
        const reply = await sendRow(name, agent, { headers: { [headers.wire]: wire } })
        if (browsers) {
          expect([reply.status === 426, reply.headers.get(headers.wire)]).toEqual([false, '3'])
          continue
        }
        expectRefusal(reply, 'wire_too_old')
        expect(reply.json).toMatchObject({ required_wire: 3, required_svc: '0.3' })
      }
    },
  )

  test.each(rows.filter(([, row]) => row.query === undefined))('%s takes no query', async (name, row) => {
    const reply = await sendRow(name, agent, { path: `${pathOf(row, agent)}?unknown=1` })
    expectRefusal(reply, 'bad_request')
  })
})

describe('every JSON route', () => {
  test.each(jsonRows)(
    '%s takes its sample, which has every member, so that the refusals below have their cause',
    async (name, row) => {
      const body = sample(name)
      const missing = members(row.request).filter(([member]) => !(member in body) && member !== 'a2a_card')
      expect(missing.map(([member]) => member)).toEqual([])
      const reply = await sendRow(name, agent, { body: json(body) })
      expect([name, reply.status, reply.json['reason']]).toEqual([name, 200, undefined])
      if (name === 'deregister') agent = await agentWithCard()
    },
  )

  test.each(jsonRows)('%s refuses an unknown member', async name => {
    expectRefusal(await sendRow(name, agent, { body: json({ ...sample(name), unknown: 1 }) }), 'bad_request')
  })

  test.each(jsonRows)('%s refuses each member that stands twice', async name => {
    const body = { ...sample(name), last: 1 }
    for (const [member, value] of Object.entries(body)) {
      const pair = `${JSON.stringify(member)}:${JSON.stringify(value)}`
      const text = JSON.stringify(body).replace(pair, `${pair},${pair}`)
      expectRefusal(await sendRow(name, agent, { body: Buffer.from(text) }), 'bad_request')
    }
  })

  test.each(jsonRows)(
    '%s refuses the wrong type of each member, and each required one that is missing',
    async (name, row) => {
      for (const [member, shape] of members(row.request)) {
        for (const wrong of [{ wrong: true }, null, [[]], 1.5].filter(
          value => !shape.safeParse(value).success,
        ))
          expectRefusal(
            await sendRow(name, agent, { body: json({ ...sample(name), [member]: wrong }) }),
            'bad_request',
          )
        if (shape.safeParse(undefined).success) continue
        const { [member]: _, ...rest } = sample(name)
        expectRefusal(await sendRow(name, agent, { body: json(rest) }), 'bad_request')
      }
    },
  )

  test.each(jsonRows)('%s refuses what is no JSON object in UTF-8', async name => {
    for (const body of ['[]', 'null', '"text"', '', '{', '{}x', '\xff'])
      expectRefusal(await sendRow(name, agent, { body: Buffer.from(body, 'latin1') }), 'bad_request')
  })
})

describe('every route with a body', () => {
  test.each(jsonRows)('%s refuses a body over its limit, declared or not', async (name, row) => {
    const tooLong = new Uint8Array(row.limits.bodyBytes + 1).fill(32)
    expectRefusal(await sendRow(name, agent, { body: tooLong }), 'too_large')
    expectRefusal(await sendRow(name, agent, { body: tooLong.subarray(1) }), 'bad_request')
    const response = await fetch(hub.url + pathOf(row, agent), {
      method: 'POST',
      headers: {
        [headers.wire]: '3',
        ...(row.auth === 'signed' &&
          (row.signedBy === 'hub' ? peerOf(agent) : agent).sign('', 'POST', '', tooLong)),
      },
      body: new Blob([tooLong]).stream(),
      duplex: 'half',
    } as RequestInit)
    const { reason } = (await response.json()) as { reason: string }
    expect([response.status, reason]).toEqual([413, 'too_large'])
  })
})

describe('every signed route', () => {
  test.each(signedRows)('%s refuses a request without a signature', async name => {
    expectRefusal(await sendRow(name, agent, { sign: 'none' }), 'unauthorized')
  })

  test.each(signedRows)('%s refuses each of the four headers when it is missing or malformed', async name => {
    for (const header of [headers.aid, headers.ts, headers.seq, headers.signature])
      for (const value of ['', '-1', 'x'.repeat(100)])
        expectRefusal(await sendRow(name, agent, { headers: { [header]: value } }), 'unauthorized')
  })

  test.each(signedRows.filter(([, row]) => row.request !== undefined))(
    '%s refuses such a header before the first byte of the body',
    async (_, row) => {
      const path = pathOf(row, agent)
      const signed = agent.sign(row.action ?? '', row.method, path, new Uint8Array())
      for (const header of [headers.aid, headers.ts, headers.seq, headers.signature])
        for (const value of [undefined, 'x']) {
          const { [header]: _value, ...others } = signed
          const given = { ...others, ...(value && { [header]: value }) }
          const socket = await openSocket(hub.url)
          socket.write(requestHead(row.method, path, { ...given, 'Content-Length': '1000' }))
          const reply = await nextReply(socket)
          socket.destroy()
          expect([reply?.status, reply?.json['reason']]).toEqual([401, 'unauthorized'])
          expect(hub.running.shares.bytesInFlight).toBe(0)
        }
    },
  )

  test.each(signedRows)('%s refuses a signature for any other action', async name => {
    const own = signedRows.find(([other]) => other === name)?.[1].action
    const actions = new Set(signedRows.map(([, row]) => row.action ?? '').filter(action => action !== own))
    for (const action of [...actions, 'send', 'p2p', 'fedkeys', ''])
      expectRefusal(await sendRow(name, agent, { sign: { action } }), 'unauthorized')
  })

  test.each(signedRows)('%s refuses a signature for another hub', async name => {
    expectRefusal(await sendRow(name, agent, { sign: { hub: agent.aid } }), 'unauthorized')
  })

  test.each(signedRows)('%s refuses a signature over another body, path or method', async (name, row) => {
    const body = json(sample(name))
    const action = row.action ?? ''
    const path = pathOf(row, agent)
    for (const signed of [
      agent.sign(action, row.method, path, json({ other: true })),
      agent.sign(action, row.method, `${path}?a=b`, body),
      agent.sign(action, 'PUT', path, body),
    ])
      expectRefusal(await sendRow(name, agent, { sign: 'none', headers: signed, body }), 'unauthorized')
  })

  test.each(signedRows)(
    '%s refuses the key of another agent, and another agent about this one',
    async (name, row) => {
      const other = await registeredAgent(hub)
      const { seed } = agent
      agent.seed = random(32)
      expectRefusal(await sendRow(name, agent), 'unauthorized')
      agent.seed = seed
      if (row.path.includes('{aid}') || members(row.request).some(([member]) => member === 'aid'))
        expectRefusal(await sendRow(name, agent, { sign: { by: other } }), 'unauthorized')
    },
  )
})

describe('every route without identity', () => {
  const anonymous = of(row => row.auth !== 'signed')
  test.each(anonymous)('%s refuses each identity header, even an empty one', async (name, row) => {
    const envelope = sealedUnderCapability(agent, agent.capability())
    const given = row.raw !== undefined ? sendHeaders(envelope) : {}
    for (const header of [headers.aid, headers.seq, headers.signature])
      for (const value of ['1', '']) {
        const reply = await sendRow(name, agent, { headers: { ...given, [header]: value } })
        expectRefusal(reply, 'identity_headers_not_allowed')
      }
  })
})

describe('every GET route', () => {
  beforeAll(async () => {
    const chosen = { visibility: 'public' }
    await agent.call('setVisibility', chosen, { params: { aid: agent.aid } })
    // proofs are of days that have ended
    hub.clock.advance(DAY_MS)
    await hub.running.hub.books.turn()
    const chains = await engine.watchedChains(hub.directory)
    const statement = fromBase64url(statementOf(witness).attestation)
    const [before, place, kel] = [0, '', random(9)]
    await chains.keep({ hub: agent.aid, before, records: [random(99)], kel, length: 1, place, statement })
    await chains.close()
  })

  const shown = of(row => row.method === 'GET' && (row.reply ?? row.produces) !== undefined)
  test.each(shown)('%s answers, in its declared shape where it has one', async (name, row) => {
    const query = new URLSearchParams(sampleQuery(name, agent)).toString()
    for (const path of [pathOf(row, agent), `${pathOf(row, agent)}${query === '' ? '' : `?${query}`}`]) {
      const reply = await sendRow(name, agent, { path })
      const read = row.reply?.safeParse(reply.json)
      expect([name, reply.status, read?.error?.message]).toEqual([name, 200, undefined])
    }
  })

  test.each(shown.filter(([, row]) => row.query !== undefined && row.produces === undefined))(
    '%s refuses query members that are unknown, stand twice or have no such value',
    async (name, row) => {
      const path = pathOf(row, agent)
      const refused = async (query: string): Promise<void> =>
        expectRefusal(await sendRow(name, agent, { path: `${path}?${query}` }), 'bad_request')
      await refused('unknown=1')
      for (const [member] of members(row.query)) {
        await refused(`${member}=1&${member}=1`)
        await refused(`${member}=${'x'.repeat(5000)}`)
      }
    },
  )
})
