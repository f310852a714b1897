/** A page, its node, and who stands between them: what he gets, and what the page believes of him. */
import * as http from 'node:http'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { randomBytes } from '#crypto'
import { Peer } from '../console/page/peer.ts'
import { readBody, refusal, send } from '../daemon/control/http.ts'
import { PageSessions } from '../daemon/control/page-sessions.ts'
import { SealedCalls } from '../daemon/control/sealed-calls.ts'
import { controlRoutes } from '../protocol/control/operations.ts'
import { systemTimers } from '../protocol/timers.ts'

const TOKEN = 'the token of the node'
const SECRET = 'nobody else reads this'

let server: http.Server
let clock: number
/** Questions as they came to whoever holds the port: path and body. */
let asked: { path: string; body: string }[]
/** Questions that the node carried out. */
let done: string[]
let answer: http.RequestListener
let beforeAnswer = async () => {}
const repeat = setInterval

beforeEach(async () => {
  ;[asked, done, clock] = [[], [], 1_790_000_000_000]
  beforeAnswer = async () => {}
  server = http.createServer((request, response) => answer(request, response))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const host = `127.0.0.1:${(server.address() as { port: number }).port}`
  vi.stubGlobal('location', { host, href: `http://${host}/` })
  const real = globalThis.fetch
  vi.stubGlobal('fetch', async (path: string, given: RequestInit) => {
    const { body = '' } = given
    asked.push({
      path,
      body: body instanceof Blob ? Buffer.from(await body.arrayBuffer()).toString('latin1') : String(body),
    })
    return real(`http://${host}${path}`, given)
  })
})
afterEach(async () => {
  vi.unstubAllGlobals()
  vi.restoreAllMocks()
  server.closeAllConnections()
  await new Promise(resolve => server.close(resolve))
})

/** A node: opens pages and answers their calls with what they asked. */
function node(): { pages: PageSessions; serve: http.RequestListener } {
  const pages = new PageSessions(TOKEN, randomBytes, () => ({ now: clock, up: clock - 1_700_000_000_000 }))
  const calls = new SealedCalls(pages, systemTimers, async (question, reply) => {
    const body = await readBody(question, { limits: { bodyBytes: 64 * 1024 * 1024 } }, systemTimers)
    done.push(`${question.method} ${question.url} ${body.length}`)
    await beforeAnswer()
    send(reply, 200, { said: SECRET, bytes: body.length })
  })
  const serve = async (request: http.IncomingMessage, response: http.ServerResponse) => {
    const url = new URL(request.url ?? '/', 'http://node')
    if (url.pathname === '/console/call')
      return calls
        .take(request, response, Object.fromEntries(url.searchParams))
        .catch(() => send(response, 401, refusal('unauthorized', 'not open')))
    const given = JSON.parse(
      Buffer.from(await readBody(request, controlRoutes.consoleOpen, systemTimers)).toString(),
    )
    const opened = pages.open(given, String(request.headers.host))
    return send(response, opened === undefined ? 401 : 200, opened ?? {})
  }
  return { pages, serve }
}

const FALSE = { challenge: 'e'.repeat(32), up: 0, masked_tabs: 'a'.repeat(64), proof: 'f'.repeat(64) }

/** Another program that answers everything, as if it were the node. */
const thief: http.RequestListener = (request, response) => {
  request.resume()
  send(response, 200, { ok: true, ...FALSE, now: clock })
}
/** A node that does not know the page, or somebody who says so. */
const stranger: http.RequestListener = (request, response) => {
  request.resume()
  send(response, 401, refusal('unauthorized', 'not open'))
}
const isCall = ({ url = '' }: http.IncomingMessage) => url.startsWith('/console/call')

function opened(): Peer {
  const { pages, serve } = node()
  answer = serve
  return new Peer(pages.issue())
}
const post = (peer: Peer, body = '{}') =>
  peer.fetch('/message', { method: 'POST', body: new Blob([body]), isOrder: true })

describe('a page', () => {
  test('asks its node, proven once, and shows nobody what is asked or answered', async () => {
    const peer = opened()
    expect(await (await peer.fetch('/inbox?of=bob')).json()).toMatchObject({ said: SECRET })
    expect((await post(peer, '{"text":"for bob alone"}')).status).toBe(200)
    expect(done).toEqual(['GET /inbox?of=bob 0', 'POST /message 24'])
    expect(asked.map(({ path }) => path.split('?')[0])).toEqual([
      '/console/open',
      '/console/call',
      '/console/call',
    ])
    expect(JSON.stringify(asked)).not.toMatch(/inbox|message|bob/)
  })

  test('makes calls beside each other', async () => {
    const peer = opened()
    const answers = await Promise.all(['/a', '/b', '/c'].map(path => peer.fetch(path)))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(asked.filter(({ path }) => path === '/console/open')).toHaveLength(1)
  })

  test('says how much of a large body its node has, which gets all of it', async () => {
    const peer = opened()
    const sent: number[] = []
    const body = new Blob([new Uint8Array(1_000_000)])
    const said = await peer.fetch('/upload?name=a', {
      method: 'POST',
      body,
      onSent: bytes => sent.push(bytes),
    })
    expect(await said.json()).toMatchObject({ bytes: 1_000_000 })
    expect(sent).toEqual([262_144, 524_288, 786_432])
  })

  test('takes a node that was started again for its own', async () => {
    const peer = opened()
    await peer.fetch('/inbox')
    answer = node().serve
    expect((await peer.fetch('/inbox')).status).toBe(200)
  })

  test('has its node prove itself anew once it is said to be lost', async () => {
    const peer = opened()
    await peer.fetch('/inbox')
    peer.lose()
    answer = thief
    await expect(peer.fetch('/inbox')).rejects.toThrow('another program answers')
    expect(asked.at(-1)?.path).toBe('/console/open')
  })

  test('asks nothing under a worker that another program has planted', async () => {
    const peer = opened()
    vi.stubGlobal('navigator', { serviceWorker: { controller: {} } })
    await expect(peer.fetch('/inbox')).rejects.toThrow('another program has put a worker')
    expect(asked).toEqual([])
  })
})

/** Gives out an answer when it is whole, as `change` makes it. */
function intercept(response: http.ServerResponse, change: (bytes: Buffer) => Buffer): void {
  const parts: Buffer[] = []
  const end = response.end.bind(response)
  const keep = (...given: unknown[]) => {
    parts.push(...given.filter(part => part instanceof Uint8Array).map(part => Buffer.from(part)))
    for (const then of given) if (typeof then === 'function') then()
  }
  response.write = keep as never
  response.end = ((...given: unknown[]) => {
    keep(...given)
    end(change(Buffer.concat(parts)))
  }) as never
}

describe('whoever holds a connection of an open page', () => {
  test('is believed nothing, whatever he answers', async () => {
    const peer = opened()
    await peer.fetch('/inbox')
    answer = thief
    await expect(peer.fetch('/inbox')).rejects.toThrow('another program answers')
    await expect(post(peer)).rejects.toThrow('another program answers')
    expect(JSON.stringify(asked)).not.toMatch(/inbox|message/)
  })

  test('changes no answer, cuts none short, and gives no earlier one again', async () => {
    const peer = opened()
    const real = answer
    const answers: Buffer[] = []
    let change = (bytes: Buffer) => bytes
    answer = (request, response) => {
      if (isCall(request)) intercept(response, bytes => change(answers[answers.push(bytes) - 1] ?? bytes))
      real(request, response)
    }
    const read = async () => (await peer.fetch('/inbox')).json()
    expect(await read()).toMatchObject({ said: SECRET })
    change = bytes => bytes.fill(0, bytes.length - 40, bytes.length - 39)
    await expect(read()).rejects.toThrow()
    change = bytes => bytes.subarray(0, -21)
    await expect(read()).rejects.toThrow()
    change = () => answers[0] ?? Buffer.alloc(0)
    await expect(read()).rejects.toThrow('no node answers')
  })

  test.each([
    ['the question whether it is the node', () => true, 'no node answers'],
    ['a call', isCall, 'no node answers'],
  ])('and takes %s without a word is not waited for', async (_what, keeps, sentence) => {
    const peer = opened()
    const real = answer
    answer = (request, response) => (keeps(request) ? request.resume() : real(request, response))
    const [timeout, wait] = [AbortSignal.timeout.bind(AbortSignal), setTimeout]
    vi.spyOn(AbortSignal, 'timeout').mockImplementation(ms => timeout(ms / 100))
    vi.stubGlobal('setTimeout', (then: () => void, ms: number, ...more: []) => wait(then, ms / 100, ...more))
    await expect(peer.fetch('/inbox')).rejects.toThrow(sentence)
  })

  test('takes no time from a call that the node works at for longer than it may be silent', async () => {
    const peer = opened()
    const wait = setTimeout
    const isSlow = Promise.withResolvers<void>()
    beforeAnswer = () => isSlow.promise
    // the page waits a fifth of a second, and the node says fifty times in it that it is at work
    vi.stubGlobal('setTimeout', (then: () => void, ms: number, ...more: []) => wait(then, ms / 100, ...more))
    vi.stubGlobal('setInterval', (then: () => void, ms: number) => repeat(then, ms / 1_000))
    wait(() => isSlow.resolve(), 600)
    expect((await peer.fetch('/inbox')).status).toBe(200)
  })

  test('who gives an order to the node and says that nobody took it gets no second one', async () => {
    const peer = opened()
    const real = answer
    answer = (request, response) => {
      if (!isCall(request)) return real(request, response)
      const hidden = new http.ServerResponse(request)
      real(request, hidden)
      setTimeout(() => stranger(request, response), 50)
    }
    await expect(post(peer)).rejects.toThrow('did not say whether it took this')
    expect(asked.filter(({ path }) => path.startsWith('/console/call'))).toHaveLength(1)
    expect(done).toEqual(['POST /message 2'])
  })

  test.each([
    ['says that nobody knows the page', (response: http.ServerResponse) => stranger(response.req, response)],
    ['ends the connection', (response: http.ServerResponse) => void response.destroy()],
  ])('who %s of an order that was carried out has the page say that nobody knows', async (_what, end) => {
    const peer = opened()
    const real = answer
    await peer.fetch('/inbox')
    answer = (request, response) => {
      if (!isCall(request)) return real(request, response)
      real(request, new http.ServerResponse(request))
      void vi.waitFor(() => expect(done).toHaveLength(2)).then(() => end(response))
    }
    await expect(post(peer)).rejects.toThrow('look before you do it again')
    expect(done).toEqual(['GET /inbox 0', 'POST /message 2'])
  })

  test('keeps a connection and answers it wrongly keeps no page from its node', async () => {
    const peer = opened()
    const real = answer
    let first = true
    answer = (request, response) => {
      const isHis = first
      first = false
      return isHis ? thief(request, response) : real(request, response)
    }
    expect((await peer.fetch('/inbox')).status).toBe(200)
  })

  test('gives bytes that are no frame, again and again, and holds nobody up with them', async () => {
    const peer = opened()
    const real = answer
    await peer.fetch('/inbox')
    const wait = setTimeout
    answer = (request, response) => {
      if (!isCall(request)) return real(request, response)
      request.resume()
      response.writeHead(200)
      response.write(Uint8Array.of(0, 1, 0, 0))
      const drip = repeat(() => response.write(Uint8Array.of(0)), 50)
      response.on('close', () => clearInterval(drip))
    }
    vi.stubGlobal('setTimeout', (then: () => void, ms: number, ...more: []) => wait(then, ms / 100, ...more))
    await expect(peer.fetch('/inbox')).rejects.toThrow('no node answers')
  })

  test('and answers with what is no frame of the node keeps no connection with it', async () => {
    const peer = opened()
    const real = answer
    await peer.fetch('/inbox')
    const ends: Promise<unknown>[] = []
    answer = (request, response) => {
      if (!isCall(request)) return real(request, response)
      request.resume()
      ends.push(new Promise(resolve => response.on('close', resolve)))
      response.writeHead(200)
      response.write(new Uint8Array(64))
    }
    await expect(peer.fetch('/inbox')).rejects.toThrow('no node answers')
    expect(ends).toHaveLength(2)
    await Promise.all(ends)
  })

  test('who gives old words of the node out late is seen by their time', async () => {
    const peer = opened()
    // also to a page that asks anew
    beforeAnswer = () => {
      clock -= 30_000
      return new Promise(() => undefined)
    }
    vi.stubGlobal('setInterval', (then: () => void, ms: number) => repeat(then, ms / 100))
    clock += 3_000
    await expect(peer.fetch('/events')).rejects.toThrow('no node answers')
  })

  test('who passes a call on twice has it carried out once', async () => {
    const peer = opened()
    const real = answer
    await post(peer)
    const { path, body } = asked.at(-1) as { path: string; body: string }
    answer = real
    const { host } = location
    const again = await new Promise<number>((resolve, reject) => {
      const [name, port] = host.split(':')
      const request = http.request({ host: name, port: Number(port), path, method: 'POST' }, response =>
        resolve(response.statusCode ?? 0),
      )
      request.on('error', reject)
      request.end(Buffer.from(body, 'latin1'))
    })
    expect([again, done]).toEqual([401, ['POST /message 2']])
  })

  test('who passes a call on after some seconds has held it for nothing: it is given anew', async () => {
    const peer = opened()
    const real = answer
    await peer.fetch('/inbox')
    let isHeld = true
    answer = (request, response) => {
      if (isHeld && isCall(request)) clock += 16_000
      isHeld = false
      real(request, response)
    }
    expect((await post(peer)).status).toBe(200)
    expect(done).toEqual(['GET /inbox 0', 'POST /message 2'])
  })
})
