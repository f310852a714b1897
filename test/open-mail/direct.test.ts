/** Letters that come to the address of a node, also those that anybody may have written. */
import * as http from 'node:http'
import * as net from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Arrived, Taker } from '../../daemon/carrier/carrier.ts'
import { Reading } from '../../daemon/open/letters.ts'
import { isConfirmed } from '../../daemon/p2p/confirmations.ts'
import { DirectServer, type GivenLetter, LetterRefused } from '../../daemon/p2p/serve/server.ts'
import { DirectTaking } from '../../daemon/p2p/taking.ts'
import type { Verdict } from '../../daemon/store/seen.ts'
import { random, startTestHub, type TestHub } from '../../hub/testing/hub.ts'
import { OpenAgent, Wire1Client } from '../../hub/testing/wire1.ts'
import { directSend } from '../../protocol/contract/direct.ts'
import { fromBase64, toBase64, toBase64url } from '../../protocol/encoding/bytes.ts'
import type { MessageBody } from '../../protocol/mail/message.ts'
import { encodeOpen, signOpen } from '../../protocol/mail/open-message.ts'
import { systemTimers } from '../../protocol/timers.ts'
import { bodyOf } from './letter.ts'
import { type OpenNode, openNode } from './node.ts'

const HOUR_MS = 3_600_000

const noEnvelopes = {
  admit: async () => undefined,
  envelope: async () => {
    throw new LetterRefused('not_now')
  },
}

let hub: TestHub
let client: Wire1Client
let node: OpenNode
let mallory: OpenAgent
let carol: OpenAgent
let server: DirectServer
let address: string
beforeAll(async () => {
  hub = await startTestHub({ wires: [1] })
  client = new Wire1Client(hub)
  node = await openNode(hub)
  mallory = await client.registered({ name: 'mallory' })
  carol = await client.registered({ name: 'carol' })
  const { identity, hub: current, store, peers, log } = node.ground
  const reading = new Reading(() => identity.aid, peers)
  const taking = new DirectTaking({ identity, hub: current, store, reading, taker }, node.ground.now, log)
  const letter = async (given: GivenLetter) => {
    await handing
    const answered = await taking.take(given)
    if ('refused' in answered) throw new LetterRefused(answered.refused)
    return toBase64(answered.confirmation)
  }
  server = new DirectServer({ ...noEnvelopes, letter }, systemTimers)
  address = await server.listen('127.0.0.1', 0)
})
afterAll(async () => {
  await server.close()
  await node.close()
  await hub.close()
})

const taken: Arrived[] = []
const shown: Arrived[] = []
let verdict: Verdict = 'stored'
/** What the node waits for before it takes a letter. */
let handing: Promise<unknown> = Promise.resolve()
const taker: Taker = {
  earlier: ({ digest }) => (taken.some(one => Buffer.from(one.digest).equals(digest)) ? 'stored' : undefined),
  showRetired: arrived => void shown.push(arrived),
  async take(arrived) {
    if (verdict === 'stored') taken.push(arrived)
    return verdict
  },
}
beforeEach(() => {
  taken.length = 0
  shown.length = 0
  verdict = 'stored'
})

type Sent = {
  body?: MessageBody
  seed?: Uint8Array
  to?: string
  from?: string
  interaction?: string
  payload?: Uint8Array
}
const written = (by: OpenAgent, more: Partial<MessageBody> = {}) => bodyOf(by, { aid: node.aid, hub }, more)

function letterOf(by: OpenAgent, { body = written(by), seed = by.seed, ...more }: Sent = {}) {
  const { interactionId } = body
  return {
    to_aid: more.to ?? node.aid,
    from_aid: more.from ?? body.from,
    kind: 'message',
    interaction_id: more.interaction ?? (interactionId === undefined ? '' : toBase64url(interactionId)),
    payload: toBase64(more.payload ?? encodeOpen(signOpen(seed, body, []))),
  }
}

type Answer = { status: number; json: Record<string, unknown> }
async function post(letter: object, path: string = directSend.path): Promise<Answer> {
  const answer = await fetch(`http://${address}${path}`, { method: 'POST', body: JSON.stringify(letter) })
  return { status: answer.status, json: (await answer.json()) as Record<string, unknown> }
}

describe('a letter', () => {
  test('under its sender’s key is taken, and confirmed by a signature over its bytes', async () => {
    const body = written(mallory)
    const payload = encodeOpen(signOpen(mallory.seed, body, []))
    const { status, json } = await post(letterOf(mallory, { body, payload }))
    expect([status, json['status']]).toEqual([200, 'taken'])
    expect(taken.map(({ body: { from }, way }) => [from, way])).toEqual([[mallory.aid, 'open']])
    const confirmation = fromBase64(String(json['confirmation']))
    const { log } = node.ground.identity
    expect(isConfirmed(log, { body, payload }, confirmation)).toBe(true)
    expect(isConfirmed(log, { body, payload: random(40) }, confirmation)).toBe(false)
    expect(isConfirmed(log, { body: written(mallory), payload }, confirmation)).toBe(false)
    expect(isConfirmed(mallory.log, { body, payload }, confirmation)).toBe(false)
    const changed = confirmation.map((byte, i) => (i === confirmation.length - 1 ? byte ^ 1 : byte))
    expect(isConfirmed(log, { body, payload }, changed)).toBe(false)
    expect(isConfirmed(log, { body, payload }, random(40))).toBe(false)
  })

  test.each<[string, () => Sent]>([
    ['another requester', () => ({ from: carol.aid })],
    ['another task', () => ({ interaction: 'another' })],
    ['no task', () => ({ interaction: '' })],
  ])('beside which %s is claimed is taken for what its sender signed', async (_, given) => {
    expect((await post(letterOf(mallory, given()))).status).toBe(200)
    expect(taken.map(({ body: { from } }) => from)).toEqual([mallory.aid])
  })

  test('that comes again is confirmed again, and taken once', async () => {
    const letter = letterOf(mallory)
    expect((await post(letter)).status).toBe(200)
    expect((await post(letter)).status).toBe(200)
    expect(taken).toHaveLength(1)
  })

  test.each<[string, () => Sent, number, string]>([
    ['is signed by another key', () => ({ seed: random(32) }), 400, 'no letter that its sender signed'],
    [
      'claims another requester in its head',
      () => ({ body: written(mallory, { from: carol.aid, kelHeadDigest: carol.log.headDigest }) }),
      400,
      'no letter that its sender signed',
    ],
    ['is none', () => ({ payload: random(40), from: mallory.aid }), 400, 'no letter that its sender signed'],
    ['is for another agent', () => ({ to: carol.aid }), 404, 'this agent is not here'],
    [
      'is for another agent in its head',
      () => ({ body: written(mallory, { to: carol.aid }) }),
      400,
      'no letter that its sender signed',
    ],
    [
      'names a key that does not exist',
      () => ({ body: written(mallory, { kelSeq: 9 }) }),
      400,
      'no letter that its sender signed',
    ],
    [
      'is of nobody whom the hub knows',
      () => {
        const nobody = new OpenAgent(client)
        return { body: written(nobody), seed: nobody.seed }
      },
      400,
      'no letter that its sender signed',
    ],
    [
      'is dated ahead',
      () => ({ body: written(mallory, { tsMs: hub.clock.now() + 2 * HOUR_MS }) }),
      403,
      'does not take the letter',
    ],
  ])('that %s is refused, and the next one is taken', async (_, given, status, sentence) => {
    const answer = await post(letterOf(mallory, given()))
    expect([answer.status, answer.json['error']]).toEqual([status, expect.stringContaining(sentence)])
    expect(taken).toEqual([])
    expect((await post(letterOf(mallory))).status).toBe(200)
    expect(taken).toHaveLength(1)
  })

  test.each<Verdict>(['refusedByPolicy', 'malformed', 'ended'])(
    'that is judged %s is refused in one sentence for all',
    async said => {
      verdict = said
      expect(await post(letterOf(mallory))).toEqual({
        status: 403,
        json: { error: 'this agent does not take the letter' },
      })
    },
  )

  test('under a key that was retired before is shown, and not confirmed', async () => {
    const dora = await client.registered({ name: 'dora' })
    const [seed, old] = [dora.seed, written(dora)]
    dora.rotate()
    await dora.register()
    hub.clock.advance(HOUR_MS)
    expect((await post(letterOf(dora))).status).toBe(200)
    const body = { ...old, messageId: random(16), tsMs: hub.clock.now() }
    expect((await post(letterOf(dora, { seed, body }))).status).toBe(403)
    expect(shown).toHaveLength(1)
  })

  test('whose key nobody can be asked for now goes by the hub', async () => {
    const erin = await client.registered({ name: 'erin' })
    node.failLogs(true)
    expect(await post(letterOf(erin))).toMatchObject({ status: 503 })
    node.failLogs(false)
    expect((await post(letterOf(erin))).status).toBe(200)
  })
})

describe('a request', () => {
  /** Bytes as they are; what came back until the other end closed. */
  const raw = (head: string, body = '') =>
    new Promise<string>((resolve, reject) => {
      let said = ''
      const socket = net.connect(Number(new URL(`http://${address}`).port), '127.0.0.1', () =>
        socket.write(`${head}\r\nHost: a\r\n\r\n${body}`),
      )
      socket.on('data', chunk => {
        said += chunk.toString()
      })
      socket.on('close', () => resolve(said))
      socket.on('error', reject)
    })
  const statusOf = (said: string) => Number(/^HTTP\/1\.1 (\d+)/.exec(said)?.[1])

  test.each([
    ['of another path', 'POST /relay/send HTTP/1.1\r\nContent-Length: 2', 404],
    ['with a query', `POST ${directSend.path}?a=1 HTTP/1.1\r\nContent-Length: 2`, 404],
    ['that only reads', `GET ${directSend.path} HTTP/1.1`, 405],
    ['that does not say its length', `POST ${directSend.path} HTTP/1.1\r\nTransfer-Encoding: chunked`, 411],
    [
      'that is too large, before a byte of it came',
      `POST ${directSend.path} HTTP/1.1\r\nContent-Length: ${directSend.limits.bodyBytes + 1}`,
      413,
    ],
  ])('%s is refused', async (_, head, status) => {
    expect(statusOf(await raw(head))).toBe(status)
  })

  test.each([
    ['no JSON', 'x'],
    ['no letter', '{}'],
    ['a member twice', '{"to_aid":"a","to_aid":"a"}'],
    ['deeper than anything', '['.repeat(10_000)],
  ])('that holds %s is refused', async (_, body) => {
    const head = `POST ${directSend.path} HTTP/1.1\r\nContent-Length: ${body.length}`
    expect(statusOf(await raw(head, body))).toBe(400)
  })

  test('whose payload is larger than a letter is refused', async () => {
    const payload = new Uint8Array(5 * 1024 * 1024 + 1)
    expect((await post(letterOf(mallory, { payload }))).status).toBe(400)
  })

  test('whose body does not come is ended after seconds, and holds up nobody', async () => {
    const started = Date.now()
    const slow = Array.from({ length: 3 }, () =>
      raw(`POST ${directSend.path} HTTP/1.1\r\nContent-Length: 1000`, '{'),
    )
    await new Promise(resolve => setTimeout(resolve, 100))
    expect((await post(letterOf(mallory))).status).toBe(200)
    expect((await Promise.all(slow)).map(statusOf)).toEqual([408, 408, 408])
    expect(Date.now() - started).toBeLessThan(9000)
  })

  test('beside too many others waits for a moment, then goes by the hub', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    handing = promise
    const four = Array.from({ length: 4 }, () => post(letterOf(mallory)))
    await new Promise(done => setTimeout(done, 200))
    const waiting = post(letterOf(carol))
    const late = await post(letterOf(carol))
    expect([late.status, late.json['error']]).toEqual([503, expect.stringContaining('send it by the hub')])
    expect((await waiting).status).toBe(503)
    const next = post(letterOf(carol))
    await new Promise(done => setTimeout(done, 200))
    resolve()
    expect((await Promise.all(four)).map(({ status }) => status)).toEqual([200, 200, 200, 200])
    expect((await next).status).toBe(200)
    expect(taken).toHaveLength(5)
  })

  test('of one connection too many gets none', async () => {
    const port = Number(new URL(`http://${address}`).port)
    const ended = () =>
      new Promise<boolean>(done => {
        const socket = net.connect(port, '127.0.0.1')
        sockets.push(socket)
        socket.on('close', () => done(true))
        socket.on('error', () => undefined)
        setTimeout(() => done(false), 1000)
      })
    const sockets: net.Socket[] = []
    const all = await Promise.all(Array.from({ length: 70 }, ended))
    expect(all.filter(Boolean).length).toBe(6)
    for (const socket of sockets) socket.destroy()
    await new Promise(done => setTimeout(done, 100))
    expect((await post(letterOf(mallory))).status).toBe(200)
  })
})

test('a node that fails says nothing of it', async () => {
  const letter = async () => {
    throw new Error('a secret of the node')
  }
  const failing = new DirectServer({ ...noEnvelopes, letter }, systemTimers)
  const at = await failing.listen('127.0.0.1', 0)
  const body = JSON.stringify(letterOf(mallory))
  const said = await fetch(`http://${at}${directSend.path}`, { method: 'POST', body })
  expect([said.status, said.headers.get('retry-after')]).toEqual([503, '5'])
  expect(await said.json()).toEqual({ error: 'nothing is taken here now; send it by the hub' })
  await failing.close()
  expect(await new Promise(done => http.get(`http://${at}/`).on('error', () => done('closed')))).toBe(
    'closed',
  )
})
