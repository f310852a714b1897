/** Signed calls to a peer, over HTTP: what it answers, and what it does not (hub API §4.6, §5.1). */

import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { verify } from '../../protocol/crypto/engine.node.ts'
import { fromBase64url, toBase64url } from '../../protocol/encoding/bytes.ts'
import { encodeKel, incept } from '../../protocol/identity/kel.ts'
import { systemTimers } from '../../protocol/timers.ts'
import { requestDigest, signedText } from '../../protocol/wire3/signed-request.ts'
import { type Peer, Peers } from '../core/federation/peers.ts'
import { refusedWith } from '../testing/core.ts'
import { random } from '../testing/hub.ts'
import { SignedPeerCalls } from './calls.ts'

type Seen = { path: string; headers: IncomingMessage['headers']; body: Buffer }
type Answer = (response: ServerResponse) => void

let server: Server
let peer: Peer
let seen: Seen[]
let answers: Answer[]
let alerts: Record<string, unknown>[]
let now: number
let peers: Peers
let calls: SignedPeerCalls
let identity: ConstructorParameters<typeof SignedPeerCalls>[0]['identity']
beforeEach(async () => {
  ;[seen, answers, alerts, now] = [[], [], [], 1_800_000_000_000]
  server = createServer(async (request, response) => {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece as Buffer)
    seen.push({ path: request.url ?? '', headers: request.headers, body: Buffer.concat(pieces) })
    answers.shift()?.(response)
  }).listen(0, '127.0.0.1')
  await new Promise<void>(done => server.once('listening', done))
  const seed = random(32)
  const log = incept({ seed, nextSeed: random(32), ts: now - 1000 })
  peer = { aid: log.aid, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, log }
  identity = { aid: log.aid, seq: 0, seed, kel: log, kelBytes: encodeKel(log.events) }
  const alert = (_: string, facts: Record<string, unknown>) => void alerts.push(facts)
  peers = new Peers()
  calls = new SignedPeerCalls({
    identity,
    peers,
    now: () => now,
    timers: { ...systemTimers, monotonic: () => now },
    alert,
  })
})
afterEach(() => {
  server.closeAllConnections()
  server.close()
})

const json =
  (status: number, body: unknown): Answer =>
  response => {
    response.writeHead(status, { 'Content-Type': 'application/json', 'X-Svc-Wire': '3' })
    response.end(JSON.stringify(body))
  }
const refusal = (reason: string, more = {}) => json(429, { reason, error: 'x; y', ...more })
const rid = toBase64url(random(16))
const queued = json(200, { status: 'queued', rid, recipient_quiet: false })
const content = random(100_000)
const forward = (bytes = content) =>
  calls.forward(peer, {
    accessBytes: random(4),
    size: bytes.length,
    async *pieces() {
      yield bytes.subarray(0, 60_000)
      yield bytes.subarray(60_000)
    },
  })
const soon = (ms: number) => AbortSignal.timeout(ms)
const bucket = (signal = soon(5000)) => calls.bucket(peer, { prefix: '', bits: 0, afterH: undefined }, signal)
const times = () => seen.map(({ headers }) => Number(headers['x-svc-ts']))

test('an envelope arrives whole, with its length and its credential, and the answer is the peer’s', async () => {
  answers = [queued]
  expect(await forward()).toMatchObject({ status: 'queued', recipientQuiet: false })
  expect(seen[0]?.body.equals(content)).toBe(true)
  expect(seen[0]?.headers).toMatchObject({
    'content-length': String(content.length),
    'content-type': 'application/vnd.svc.envelope+cbor',
    'x-svc-access': expect.any(String),
  })
})

test('times rise with each call, whatever the clock does', async () => {
  answers = [queued, queued, queued]
  await forward()
  now -= 60_000
  await Promise.all([forward(), forward()])
  expect(times()).toEqual([now + 60_000, now + 60_001, now + 60_002])
})

test('a clock that was set right after it ran far ahead counts at once: no peer has taken such a time', async () => {
  answers = [json(401, { reason: 'unauthorized', error: 'x; y' }), queued, queued]
  const right = now
  now += 2 * 24 * 3_600_000
  await forward().catch(() => undefined)
  now = right
  await Promise.all([forward(), forward()])
  expect(times().slice(1)).toEqual([right, right + 1])
})

test('a peer that has just started is asked once more, above its floor', async () => {
  answers = [json(401, { reason: 'ts_stale', error: 'x; y', floor: now + 2000 }), queued]
  expect(await forward()).toMatchObject({ status: 'queued' })
  expect(times()).toEqual([now, now + 2001])
  expect(seen[1]?.body.equals(content)).toBe(true)
})

describe('while the body of a large envelope is on its way', () => {
  /** Says that it wants the body, or nothing of it, and reads none before `go` resolves. */
  const holdBodies = (go: Promise<void>, isAsked = true) =>
    server.on('checkContinue', async (request: IncomingMessage, response: ServerResponse) => {
      if (isAsked) response.writeContinue()
      await go
      server.emit('request', request, response)
    })

  test('other calls to that peer go on, with later times', async () => {
    const { promise: go, resolve } = Promise.withResolvers<void>()
    holdBodies(go)
    const asked = once(server, 'checkContinue')
    answers = [json(200, { max_bits: 0, entries: [] }), queued]
    const large = forward()
    await asked
    expect(await bucket()).toMatchObject({ bitsMax: 0 })
    resolve()
    expect(await large).toMatchObject({ status: 'queued' })
    expect(times()).toEqual([now + 1, now])
    expect(seen[1]?.body.equals(content)).toBe(true)
  })

  test('a peer whose proxy says nothing of it gets the body all the same', async () => {
    holdBodies(Promise.resolve(), false)
    answers = [queued]
    expect(await forward()).toMatchObject({ status: 'queued' })
    expect(seen[0]?.body.equals(content)).toBe(true)
  })

  test('a refusal of its head is told, and nothing more is sent', async () => {
    server.on('checkContinue', (_, response: ServerResponse) => refusal('mailbox_full')(response))
    await expect(forward()).rejects.toMatchObject({ code: 'mailboxFull' })
    expect(seen).toEqual([])
  })

  test('a refusal meanwhile is told, and what is left of the body is read no further', async () => {
    server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
      response.writeContinue()
      request.once('data', () => refusal('mailbox_full')(response))
    })
    const [piece, count] = [random(64 * 1024), 400]
    let open = 0
    const pieces = async function* () {
      open += 1
      try {
        for (let n = 0; n < count; n++) yield piece
      } finally {
        open -= 1
      }
    }
    const asked = { accessBytes: random(4), size: piece.length * count, pieces }
    await expect(calls.forward(peer, asked)).rejects.toMatchObject({ code: 'mailboxFull' })
    await vi.waitFor(() => expect(open).toBe(0))
  })

  test('a peer that goes away, or never wants it, is away', async () => {
    server.on('checkContinue', (request: IncomingMessage) => void request.socket.destroy())
    await expect(forward()).rejects.toMatchObject({ code: 'homeUnreachable' })
    server.closeAllConnections()
    server.close()
    await expect(forward()).rejects.toMatchObject({ code: 'homeUnreachable' })
  })
})

describe('reviews', () => {
  const ended = new AbortController()
  const reviews = (signal = ended.signal) => calls.reviews(peer, 7, signal)
  const bytes = { receipt: random(9), review: random(8), attestation: random(7), kel: random(6) }
  const { kel, ...others } = Object.fromEntries(
    Object.entries(bytes).map(([name, value]) => [name, toBase64url(value)]),
  )
  const record = { format: 1, ...others, provider_kel: kel, fed_seq: 8 }

  test('are asked for after a number, under a signature that covers it', async () => {
    answers = [json(200, { reviews: [record, { aid: peer.aid, withdrawn: true, fed_seq: 9 }], next: 9 })]
    expect(await reviews()).toEqual({
      told: [
        { fedSeq: 8, ...bytes },
        { fedSeq: 9, withdrawn: peer.aid },
      ],
      more: true,
    })
    const { path, headers } = seen[0] as Seen
    expect(path).toBe('/fed/v3/reviews?cursor=7')
    const text = signedText(
      { action: 'fed_reviews', aid: peer.aid, hub: peer.aid, ts: Number(headers['x-svc-ts']) },
      requestDigest('GET', path, new Uint8Array()),
    )
    expect(verify(peer.log.publicKey, text, fromBase64url(String(headers['x-svc-sig'])))).toBe(true)
  })

  test.each<[string, unknown]>([
    ['of another format', { reviews: [{ ...record, format: 2 }] }],
    ['with another member', { reviews: [{ ...record, reviewer: 'somebody' }] }],
    ['that are too many', { reviews: Array.from({ length: 101 }, () => record) }],
    ['without a number', { reviews: [{ ...record, fed_seq: -1 }] }],
    ['that are withdrawn and not', { reviews: [{ ...record, withdrawn: true }] }],
  ])('%s are no answer', async (_, body) => {
    answers = [json(200, body)]
    expect(await refusedWith(reviews)).toBe('homeUnreachable')
  })

  test('and agents are asked for in the same way', async () => {
    const [kelBytes, keys] = [random(9), random(8)]
    const card = { kel: toBase64url(kelBytes), keys: toBase64url(keys), fed_seq: 8 }
    answers = [json(200, { cards: [card, { aid: peer.aid, withdrawn: true, fed_seq: 9 }] })]
    expect(await calls.cards(peer, 7, ended.signal)).toEqual({
      told: [
        { fedSeq: 8, kel: kelBytes, keys },
        { fedSeq: 9, withdrawn: peer.aid },
      ],
      more: false,
    })
    expect(seen[0]?.path).toBe('/fed/v3/cards?cursor=7')
  })

  test('are waited for no longer once the hub stops, which is no news', async () => {
    const stopping = new AbortController()
    answers = [() => stopping.abort()]
    expect(await refusedWith(() => reviews(stopping.signal))).toBe('homeUnreachable')
    expect(alerts).toEqual([])
  })
})

describe('what a peer refuses', () => {
  test.each([
    ['access_invalid', 'accessInvalid'],
    ['kid_stale', 'kidStale'],
    ['strangers_busy', 'strangersBusy'],
    ['unknown_destination', 'recipientUnknown'],
  ])('for the sake of the envelope is told to its sender: %s', async (code, reason) => {
    answers = [refusal(code)]
    expect(await refusedWith(forward)).toBe(reason)
    expect(alerts).toEqual([])
  })

  test('because it lists this hub no more is told to both', async () => {
    answers = [refusal('not_peer')]
    expect(await refusedWith(forward)).toBe('notPeer')
    expect(alerts).toEqual([{ peer: peer.url, route: '/fed/v3/forward', status: 429, why: 'x; y' }])
  })

  test.each(['source_rate', 'unauthorized', 'internal', 'bad_status_query', 'no_such_code'])(
    'for other reasons is between the hubs, and told to the operator: %s',
    async code => {
      answers = [refusal(code)]
      expect(await refusedWith(forward)).toBe('homeUnreachable')
      expect(alerts).toEqual([{ peer: peer.url, route: '/fed/v3/forward', status: 429, why: 'x; y' }])
    },
  )
})

describe('a peer that gives no answer of this interface', () => {
  test.each<[string, Answer]>([
    ['a page', response => response.end('<html>')],
    ['another shape', json(200, { status: 'queued' })],
    ['a redirect', response => response.writeHead(307, { Location: 'http://127.0.0.1:1/' }).end()],
    ['a cut connection', response => response.destroy()],
    ['half of an answer', response => response.writeHead(200, { 'Content-Length': '99' }).end('{')],
  ])('is away: %s', async (_, answer) => {
    answers = [answer]
    expect(await refusedWith(forward)).toBe('homeUnreachable')
  })

  test('is away after its time, and a look-up behind a slow envelope no later than its own', async () => {
    answers = [() => undefined]
    void forward(content.subarray(0, 1000)).catch(() => undefined)
    await vi.waitFor(() => expect(seen).toHaveLength(1))
    const startedMs = performance.now()
    expect(await refusedWith(() => bucket(soon(200)))).toBe('homeUnreachable')
    expect(performance.now() - startedMs).toBeLessThan(2000)
    expect(seen.filter(({ path }) => path.includes('bucket'))).toEqual([])
    // it was not asked, so it is not at fault
    expect(peers.contact(peer.aid).fault).toBeUndefined()
  })

  test.each([
    [1000, 10_020],
    [1024 * 1024, 30_972],
    [64 * 1024 * 1024, 120_000],
  ])('has so long for an envelope as that takes: %i bytes, %i ms', async (size, ms) => {
    const given: number[] = []
    const deadline = (after: number) => {
      given.push(after)
      return AbortSignal.abort(new DOMException('over', 'TimeoutError'))
    }
    const timers = { ...systemTimers, deadline }
    const late = new SignedPeerCalls({ identity, peers, now: () => now, timers, alert: () => undefined })
    const pieces = async function* () {}
    expect(await refusedWith(() => late.forward(peer, { accessBytes: random(4), size, pieces }))).toBe(
      'homeUnreachable',
    )
    expect(given).toEqual([ms])
  })

  test('is away where its bucket holds what is no box', async () => {
    for (const box of ['!', 'A'.repeat(500_000)]) {
      answers = [json(200, { max_bits: 0, entries: [{ h: toBase64url(random(32)), box }] })]
      expect(await refusedWith(() => bucket())).toBe('homeUnreachable')
    }
  })

  test('is told to the operator once a minute', async () => {
    for (const [ms, count] of [
      [0, 1],
      [30_000, 1],
      [30_000, 2],
    ] as const) {
      now += ms
      answers = [response => response.destroy()]
      await refusedWith(forward)
      expect(alerts).toHaveLength(count)
    }
  })
})
