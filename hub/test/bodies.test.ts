/** Bodies that are declared and not sent, or sent and not finished, cost their sender and nobody else. */
import type { Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { toBase64url } from '../../protocol/encoding/bytes.ts'
import { encodeAccess } from '../../protocol/mail/access.ts'
import { ENVELOPE_TYPE } from '../../protocol/wire3/headers.ts'
import {
  callRoute,
  type Reply,
  random,
  registeredAgent,
  startTestHub,
  type TestAgent,
  type TestHub,
} from '../testing/hub.ts'
import { sealedUnderCapability, sendEnvelope, sendHeaders } from '../testing/mail.ts'
import { sendRow } from '../testing/routes.ts'
import { nextReply, openSocket, requestHead } from '../testing/sockets.ts'

const KIB = 1024
const MIB = 1024 * KIB
const LARGE = 780_000

let hub: TestHub
let agent: TestAgent
beforeAll(async () => {
  hub = await startTestHub({ limits: { jsonBytesInFlightMax: 8 * MIB } })
  agent = await registeredAgent(hub)
})
afterAll(() => hub.close())

/** A credential that is none: a first contact under a session that there is not. */
const madeUp = (): Record<string, string> => ({
  'Content-Type': ENVELOPE_TYPE,
  'X-Svc-Access': toBase64url(encodeAccess({ kind: 0 })),
  'X-Svc-Session': toBase64url(random(16)),
  'X-Svc-MAC': toBase64url(random(32)),
  'X-Svc-TS': String(hub.clock.now()),
})

/** The headers of a signed request, of which nothing but the form holds. */
const claimed = (): Record<string, string> => agent.sign('register', 'POST', '/register', new Uint8Array())

/** Sockets that have sent a part of what they declared. */
async function begun(
  count: number,
  from: string,
  path: string,
  headers: Record<string, string>,
  part: number,
) {
  const sockets = []
  for (let i = 0; i < count; i++) {
    const socket = await openSocket(hub.url, from)
    socket.write(requestHead('POST', path, headers))
    if (part > 0) socket.write(Buffer.alloc(part, ' '))
    sockets.push(socket)
  }
  return sockets
}

const held = (): number => hub.running.shares.bytesInFlight

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise(resolve => setTimeout(resolve, 2))
}

const answersOthers = async (): Promise<number[]> => {
  const item = { rid: toBase64url(random(16)), handle: toBase64url(random(16)) }
  const asked = await callRoute(hub, 'relayStatus', { items: [item] })
  const sent = await sendEnvelope(hub, sealedUnderCapability(agent, agent.capability()))
  return [asked.status, sent.status, (await agent.call('relayPoll', {})).status]
}

describe('a body that is only declared', () => {
  test('takes room for its head: twenty of 96 MiB keep nobody from anything', async () => {
    const headers = { ...madeUp(), 'Content-Length': String(96 * MIB) }
    const sockets = await begun(20, '127.0.0.2', '/relay/send', headers, 0)
    await until(() => held() > 0)
    expect(await answersOthers()).toEqual([200, 200, 200])
    expect(held()).toBeLessThanOrEqual(20 * 4 * KIB)
    for (const socket of sockets) socket.destroy()
    await until(() => held() === 0)
  })
})

describe('a body that is begun and never finished', () => {
  test('of JSON: what is above the share of its address is rate_limited, other addresses go on', async () => {
    const headers = { ...claimed(), 'Content-Length': String(700 * KIB) }
    const sockets = await begun(2, '127.0.0.2', '/register', headers, 500 * KIB)
    await until(() => held() >= 1000 * KIB)
    const [third] = await begun(1, '127.0.0.2', '/register', headers, 100 * KIB)
    expect((third && (await nextReply(third)))?.json['reason']).toBe('rate_limited')
    expect(await answersOthers()).toEqual([200, 200, 200])
    const [elsewhere] = await begun(1, '127.0.0.3', '/register', headers, 700 * KIB)
    expect((elsewhere && (await nextReply(elsewhere)))?.json['reason']).toBe('bad_request')
    for (const socket of [...sockets, third, elsewhere]) socket?.destroy()
    await until(() => held() === 0)
  })

  test('of JSON, from as many addresses as fill the hub: gives way to the work of everybody else', async () => {
    const max = 8 * MIB
    const full = await startTestHub({
      limits: { jsonBytesInFlightMax: max, bodyGraceMs: 600_000 },
      open: true,
    })
    const [one, other] = [await registeredAgent(full), await registeredAgent(full)]
    const room = (): number => max - full.running.shares.bytesInFlight
    const sockets: Socket[] = []
    /** Each of these bodies has an IPv6 /64 of its own, claims a signature and has no end. */
    const fill = async (): Promise<void> => {
      for (let left = room(); left > 0; left = room()) {
        const part = Math.min(LARGE, left)
        const address = { 'X-Forwarded-For': `2001:db8:0:${sockets.length.toString(16)}::1` }
        const signed = one.sign('register', 'POST', '/register', new Uint8Array())
        const socket = await openSocket(full.url)
        sockets.push(socket)
        socket.write(requestHead('POST', '/register', { ...address, ...signed, 'Content-Length': '786000' }))
        socket.write(Buffer.alloc(part, ' '))
        await until(() => room() <= left - part)
      }
    }
    await fill()
    const refused = nextReply(sockets[0] as Socket)
    const work: Record<string, () => Promise<Reply>> = {
      status: () => sendRow('relayStatus', one),
      session: () => sendRow('relaySession', one),
      settle: () => sendRow('x402Settle', one),
      poll: () => sendRow('relayPoll', other),
      register: () => sendRow('register', other),
    }
    for (const [name, ask] of Object.entries(work)) {
      await fill()
      expect(room(), name).toBe(0)
      expect((await ask()).status, name).toBe(200)
      await until(() => room() === LARGE)
    }
    expect(await refused).toMatchObject({ status: 503, json: { reason: 'unavailable' } })
    for (const socket of sockets) socket.destroy()
    await until(() => room() === max)
    await full.close()
  })

  test('of an envelope: counts as it arrives once its credential holds, for its recipient as well', async () => {
    const narrow = await startTestHub({ limits: { envelopeBytesMax: 400 * KIB, bytesInFlightMax: MIB } })
    const [one, two] = [await registeredAgent(narrow), await registeredAgent(narrow)]
    const begin = async (recipient: TestAgent, from: string) => {
      const envelope = sealedUnderCapability(recipient, recipient.capability(), { contentBytes: 300 * KIB })
      const length = { 'Content-Length': String(envelope.bytes.length) }
      const socket = await openSocket(narrow.url, from)
      socket.write(requestHead('POST', '/relay/send', { ...sendHeaders(envelope), ...length }))
      socket.write(envelope.bytes.subarray(0, 290 * KIB))
      return { socket, rest: envelope.bytes.subarray(290 * KIB) }
    }
    const first = await begin(one, '127.0.0.2')
    await until(() => narrow.running.shares.bytesInFlight >= 290 * KIB)
    const second = await begin(one, '127.0.0.3')
    expect((await nextReply(second.socket))?.json['reason']).toBe('rate_limited')
    const third = await begin(two, '127.0.0.2')
    expect((await nextReply(third.socket))?.json['reason']).toBe('rate_limited')
    const fourth = await begin(two, '127.0.0.3')
    for (const { socket, rest } of [first, fourth]) {
      socket.write(rest)
      expect((await nextReply(socket))?.status).toBe(200)
    }
    for (const { socket } of [first, second, third, fourth]) socket.destroy()
    await narrow.close()
  })
})

test('an upload that is refused before its end still lets the client read the answer, also one that writes all first', async () => {
  const socket = await openSocket(hub.url, '127.0.0.1')
  const body = Buffer.alloc(32 * MIB, 'x')
  const headers = { 'Content-Type': 'application/json', 'Content-Length': String(body.length) }
  const fault = await new Promise<Error | undefined>(done => {
    socket.once('error', done)
    socket.write(requestHead('POST', '/register', headers))
    socket.write(body, error => done(error ?? undefined))
  })
  expect(fault).toBeUndefined()
  expect(await nextReply(socket)).toMatchObject({ status: 413 })
})
