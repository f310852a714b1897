/** A hub that accepts a call and never ends its answer: who waits for it, and for how long. */
import { mkdtempSync } from 'node:fs'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { systemTimers } from '../../../protocol/timers.ts'
import { hubAsked, publishing } from '../../control/hub-call.ts'
import { openIdentity } from '../../identity/identity.ts'
import { WAIT_MS } from '../../mail/relay.ts'
import { Connections } from '../http.ts'
import { Publication } from '../publication.ts'
import { Wire3Hub } from './hub.ts'
import { HELD_SLACK_MS } from './poll.ts'

const now = 1_780_000_000_000
const random = (length: number) => crypto.getRandomValues(new Uint8Array(length))
const identityIn = (name: string) =>
  openIdentity(mkdtempSync(join(tmpdir(), `svc-${name}-`)), { now: () => now, random })
const own = identityIn('hung')
const other = identityIn('hung-hub')
const connections = new Connections()
const profile = { name: 'n', caps: [], summary: '', readme: '' }
const headers = { 'X-Svc-Wire': '3', 'Content-Type': 'application/json' }

type Answer = (response: ServerResponse) => void
const drips: Answer = response => {
  response.writeHead(200, headers)
  const timer = setInterval(() => response.write(' '), 20)
  response.on('close', () => clearInterval(timer))
}
const silent: Answer = () => undefined
const stored: Answer = response => {
  response.writeHead(200, headers)
  response.end('{"status":"profile_updated"}')
}

let server: Server
let hub: Wire3Hub
let answers: Answer[] = []
let paths: string[] = []
beforeAll(async () => {
  server = createServer((request, response) => {
    paths.push(request.url ?? '')
    const answer = answers.shift() ?? stored
    answer(response)
  })
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
})
beforeEach(() => {
  paths = []
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const inputs = {
    identity: own,
    connections,
    now: () => now,
    timers: systemTimers,
    random,
    spoolFolder: mkdtempSync(join(tmpdir(), 'svc-hung-spool-')),
  }
  const identity = { aid: other.aid, wire: 3, log: other.log, bitsMax: 0 }
  hub = new Wire3Hub(url, identity, { ...inputs, publication: new Publication() })
})
afterEach(() => vi.restoreAllMocks())
afterAll(async () => {
  await connections.close()
  server.closeAllConnections()
  await new Promise<void>(done => server.close(() => done()))
})

const asker = { identity: own, timers: systemTimers }
const balance = (ms: number) => hubAsked(asker, signal => hub.credits.account(20, signal), ms)
const unreachable = {
  code: 'hub_unreachable',
  message: expect.stringMatching(/did not answer within 0\.2 s/),
}

test.each([
  ['never answers', silent],
  ['drips its answer', drips],
])('a question to a hub that %s is given up in time, and holds up no other call', async (_name, answer) => {
  answers = [answer]
  await expect(balance(200)).rejects.toMatchObject(unreachable)
  await hub.updateProfile(profile)
  expect(paths).toHaveLength(2)
})

test('a question behind a hung call is given up in time and never sent; the others keep their order', async () => {
  let free: () => void = () => undefined
  answers = [
    response => {
      free = () => stored(response)
    },
  ]
  const first = hub.updateProfile(profile)
  await expect(balance(200)).rejects.toMatchObject(unreachable)
  const next = hub.setVisibility('public').catch(() => undefined)
  await new Promise(done => setImmediate(done))
  expect(paths).toHaveLength(1)
  free()
  await Promise.all([first, next])
  expect(paths).toHaveLength(2)
  expect(paths.some(path => path.includes('balance'))).toBe(false)
})

test('a directory that is never read to its end is given up in time', async () => {
  answers = [drips]
  await expect(hubAsked(asker, signal => hub.listAgents({ limit: 1, signal }), 200)).rejects.toMatchObject(
    unreachable,
  )
})

test('an order is given up in time, and what is published says that it is kept here', async () => {
  answers = [drips]
  const { promise: ended, resolve } = Promise.withResolvers<void>()
  const update = () => hub.updateProfile(profile).finally(resolve)
  await expect(publishing(asker, update, 200)).rejects.toMatchObject({
    code: 'hub_unreachable',
    message:
      'the hub did not answer within 0.2 s; the new profile is kept here, the hub has not confirmed it',
  })
  server.closeAllConnections()
  await ended
})

test('a signed call holds the queue for 20 s at most, from its own turn on', async () => {
  const real = AbortSignal.timeout
  const timeout = vi.spyOn(AbortSignal, 'timeout').mockImplementation(ms => real.call(AbortSignal, ms / 200))
  answers = [drips]
  const hung = hub.updateProfile(profile).catch((error: unknown) => error)
  await hub.updateProfile(profile)
  expect(await hung).toBeInstanceOf(Error)
  expect(timeout.mock.calls[0]).toEqual([20_000])
})

/** Begins its answer at once, and takes longer for it than a hub may be silent. */
const takesItsTime: Answer = response => {
  response.writeHead(200, { ...headers, 'Preference-Applied': 'wait=1' })
  response.write('{"messages":[],')
  const timer = setInterval(() => response.write(' '), 500)
  setTimeout(() => {
    clearInterval(timer)
    response.end('"more":false}')
  }, HELD_SLACK_MS + 2_000)
}

test('a held poll that is not answered ends soon after its time, and one whose answer comes slowly does not', async () => {
  const poll = () => hub.poll({ waitSeconds: 1, signal: new AbortController().signal })
  answers = [silent, takesItsTime]
  const began = performance.now()
  const hung = poll().catch((error: unknown) => error)
  const slow = poll()
  expect(await hung).toBeInstanceOf(Error)
  expect(performance.now() - began).toBeLessThan(HELD_SLACK_MS + 2_000)
  expect(await slow).toMatchObject({ envelopes: [], more: false })
})

test('a hub that hangs is noticed within 30 s', () => {
  expect(WAIT_MS + HELD_SLACK_MS).toBeLessThanOrEqual(30_000)
})
