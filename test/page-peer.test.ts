/** A page and who answers at its node's port: what is asked before he has proven himself. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { randomBytes } from '#crypto'
import { Peer } from '../console/page/peer.ts'
import { PageSessions } from '../daemon/control/page-sessions.ts'

const HOST = '127.0.0.1:7000'
const node = () => new PageSessions('the token of the node', randomBytes)
let answers: PageSessions | 'another program' | 'not proven'
let asked: string[]
let beforeProof = async () => {}

beforeEach(() => {
  asked = []
  beforeProof = async () => {}
  vi.stubGlobal('location', { host: HOST, href: `http://${HOST}/` })
  vi.stubGlobal('fetch', async (path: string, { method, body, headers }: RequestInit) => {
    asked.push(`${method} ${path}`)
    if (answers === 'another program')
      return Response.json({ challenge: 'e'.repeat(32), proof: 'f'.repeat(64) })
    if (answers === 'not proven') return Response.json({}, { status: 401 })
    if (path !== '/console/open') {
      const { Authorization } = headers as { Authorization: string }
      const isProven = answers.check(Authorization, String(method), path) !== undefined
      return Response.json({}, { status: isProven ? 200 : 401 })
    }
    const opened = answers.open(JSON.parse(String(body)), HOST)
    await beforeProof()
    return Response.json(opened ?? {}, { status: opened === undefined ? 401 : 200 })
  })
})
afterEach(() => {
  vi.unstubAllGlobals()
})

function pageOf(sessions: PageSessions): Peer {
  answers = sessions
  return new Peer(sessions.issue())
}

test('without a stream, the node proves itself before each request', async () => {
  const peer = pageOf(node())
  expect((await peer.fetch('/inbox', {})).status).toBe(200)
  expect((await peer.fetch('/status', {})).status).toBe(200)
  answers = 'another program'
  await expect(peer.fetch('/inbox', {})).rejects.toThrow('another program answers')
  expect(asked).toEqual([
    'POST /console/open',
    'GET /inbox',
    'POST /console/open',
    'GET /status',
    'POST /console/open',
  ])
})

test('requests beside each other are taken, each after a proof of its own', async () => {
  const peer = pageOf(node())
  const asking = ['/inbox', '/status', '/inbox'].map(async path => {
    await Promise.resolve()
    return (await peer.fetch(path, {})).status
  })
  expect(await Promise.all(asking)).toEqual([200, 200, 200])
  expect(
    (await Promise.all(['/status', '/tasks'].map(path => peer.fetch(path, {})))).map(a => a.status),
  ).toEqual([200, 200])
})

test('while a stream is open, one proof is enough; when it is lost, it is not', async () => {
  const peer = pageOf(node())
  await peer.fetch('/inbox', {})
  peer.watch()
  for (const path of ['/inbox', '/status', '/tasks']) await peer.fetch(path, {})
  expect(asked.filter(one => one === 'POST /console/open')).toHaveLength(2)
  peer.lose()
  answers = 'another program'
  await expect(peer.fetch('/inbox', {})).rejects.toThrow('another program answers')
  expect(asked.at(-1)).toBe('POST /console/open')
})

test('a proof that was on its way when the stream was lost counts for nothing', async () => {
  const peer = pageOf(node())
  peer.watch()
  beforeProof = async () => {
    peer.lose()
    answers = 'another program'
  }
  await expect(peer.fetch('/inbox', {})).rejects.toThrow('another program answers')
  expect(asked).toEqual(['POST /console/open', 'POST /console/open'])
})

test('a node that was started again takes the page once it opened anew', async () => {
  const sessions = node()
  const peer = pageOf(sessions)
  peer.watch()
  await peer.fetch('/inbox', {})
  answers = node()
  expect((await peer.fetch('/inbox', {})).status).toBe(200)
})

test('an order that is said not to be taken is not given a second time; a question is', async () => {
  const peer = pageOf(node())
  const sessions = answers as PageSessions
  beforeProof = async () => {
    // whoever stands between takes the order and answers that nobody knows the page
    answers = 'not proven'
  }
  await expect(peer.fetch('/message', { method: 'POST', body: '{}' })).rejects.toThrow('no node answers')
  expect(asked.filter(one => one === 'POST /message')).toHaveLength(1)
  beforeProof = async () => {}
  answers = sessions
  expect((await peer.fetch('/inbox', {})).status).toBe(200)
})

test('under a worker that another program has planted, nothing is asked', async () => {
  const peer = pageOf(node())
  vi.stubGlobal('navigator', { serviceWorker: { controller: {} } })
  await expect(peer.fetch('/inbox', {})).rejects.toThrow('another program has put a worker')
  expect(asked).toEqual([])
})
