/** Who gets the console, and who gets a session with it: over real sockets, as browsers and others of the machine ask. */
import { execFile, execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, writeFileSync } from 'node:fs'
import * as http from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Boot, bootMarks } from '../../protocol/control/console.ts'
import { FrameOpener } from '../../protocol/control/page-frames.ts'
import { pageProof } from '../../protocol/control/page-key.ts'
import { systemTimers } from '../../protocol/timers.ts'
import { writeConfig } from '../home/config.ts'
import { isGivenAddress } from '../home/home.ts'
import { type Node, startNode } from '../node.ts'
import { type Answer, askedOf, OpenPage, type Session, send, trade, tradeBody } from '../testing/page.ts'
import { ControlAddress } from './address.ts'
import { ALONE, tradeTicket } from './console.ts'
import { ONCE_LIFE_MS } from './once.ts'
import { PAGES_MAX, PageSessions } from './page-sessions.ts'
import { Lookups } from './peer-table.ts'
import { peerUser } from './peer-user.ts'
import { Tickets } from './tickets.ts'

const PAGE = `<!doctype html><style nonce="${bootMarks.nonce}"></style><script type="application/json">${bootMarks.boot}</script><script nonce="${bootMarks.nonce}"></script>`
const never = new AbortController().signal
/** What a browser says of a page that its user opens. */
const OPENED = { 'Sec-Fetch-Site': 'none', 'Sec-Fetch-Mode': 'navigate', 'Sec-Fetch-Dest': 'document' }
const isLinux = process.platform === 'linux'
const hasIpv6 = Object.values(networkInterfaces()).some(ends => ends?.some(end => end.address === '::1'))

async function nodeWith(config: Parameters<typeof writeConfig>[1]): Promise<Node> {
  const dir = mkdtempSync(join(tmpdir(), 'svc-console-'))
  writeConfig(dir, { control_addr: '127.0.0.1:0', ...config })
  const env = { SVC_RUNTIME_DIR: join(dir, 'run'), PATH: process.env['PATH'] }
  return startNode({ dir, env, consolePage: () => PAGE })
}

const same = <T>(given: T): T => given
type Change = { path?: (path: string) => string; body?: (body: Uint8Array) => Uint8Array }

const addressOf = (node: Node) => `127.0.0.1:${node.controlAddress.split(':').at(-1)}`
const ask = (node: Node, path: string, headers: Record<string, string> = {}, body?: string) =>
  send(addressOf(node), path, { headers, ...(body === undefined ? {} : { body }) })

const bootIn = (answer: Answer): Boot =>
  JSON.parse(/application\/json">([^<]*)</.exec(answer.text)?.[1] ?? 'null') as Boot
const keyOf = (boot: Boot) => ('key' in boot ? boot.key : undefined)
const ticketOf = async (node: Node) => {
  const { console_url } = await node.handlers.consoleTicket({}, never)
  return console_url.split('#t=')[1] ?? ''
}

describe('the console of a node', () => {
  let node: Node
  beforeAll(async () => {
    node = await nodeWith({ console_hosts: ['box.example', 'tunnel.example:8443', 'front.example:443'] })
  })
  afterAll(() => node.stop())

  test.runIf(isLinux)(
    'comes with a session where its user opens it in a browser, each time under a name that nobody has asked for before',
    async () => {
      const port = node.controlAddress.split(':').at(-1)
      const seen = new Set<string>()
      for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`]) {
        const sent = await ask(node, '/console', { ...OPENED, Host: host })
        const place = new URL(String(sent.headers.location))
        expect([sent.status, sent.text, place.pathname]).toEqual([302, '', '/console'])
        expect(place.host).toMatch(new RegExp(`^svc-[0-9a-f]{20}\\.localhost:${port}$`))
        const answer = await ask(node, '/console', { ...OPENED, Host: place.host })
        expect([answer.status, bootIn(answer)]).toEqual([
          200,
          expect.objectContaining({
            session: expect.stringMatching(/^[0-9a-f]{32}$/),
            key: expect.stringMatching(/^[0-9a-f]{64}$/),
          }),
        ])
        seen.add(place.host)
        // loaded anew, also after the page has changed its own address
        for (const site of ['none', 'same-origin']) {
          const again = await ask(node, '/console', { ...OPENED, Host: place.host, 'Sec-Fetch-Site': site })
          expect([again.status, keyOf(bootIn(again))]).toEqual([200, expect.any(String)])
          expect(keyOf(bootIn(again))).not.toBe(keyOf(bootIn(answer)))
        }
      }
      expect(seen.size).toBe(3)
    },
  )

  test.runIf(isLinux)('is not given to a page that opens it, also of a name of ours', async () => {
    const port = node.controlAddress.split(':').at(-1)
    const planted = { ...OPENED, 'Sec-Fetch-Site': 'same-origin' }
    for (const Host of [`localhost:${port}`, `svc-${'0'.repeat(20)}.localhost:${port}`])
      expect(bootIn(await ask(node, '/console', { ...planted, Host }))).toMatchObject({ lacks: 'browser' })
  })

  test('nobody else has its port at ::1', async () => {
    const port = Number(node.controlAddress.split(':').at(-1))
    const answer = await new Promise<string>(resolve => {
      const given = { host: '::1', port, path: '/ping', headers: { Host: `[::1]:${port}` }, agent: false }
      const request = http.request(given, response => resolve(String(response.statusCode)))
      request.on('error', error => resolve((error as NodeJS.ErrnoException).code ?? ''))
      request.end()
    })
    expect(['200', 'EADDRNOTAVAIL', 'EAFNOSUPPORT']).toContain(answer)
  })

  test.runIf(isLinux).each([
    ['a program that fetches addresses', {}],
    ['a script of a page', { ...OPENED, 'Sec-Fetch-Mode': 'cors', 'Sec-Fetch-Dest': 'empty' }],
    ['a frame', { ...OPENED, 'Sec-Fetch-Dest': 'iframe' }],
  ])('comes to %s without a session, and says so', async (_, headers) => {
    const answer = await ask(node, '/console', headers)
    expect([answer.status, bootIn(answer)]).toEqual([200, expect.objectContaining({ lacks: 'browser' })])
  })

  test('has a policy that runs and shows nothing but its own, with a nonce of its own each time', async () => {
    const [one, two] = [await ask(node, '/console'), await ask(node, '/console')]
    const policy = String(one.headers['content-security-policy'])
    const nonce = /'nonce-([^']+)'/.exec(policy)?.[1] ?? ''
    expect(policy).toBe(
      `default-src 'none'; script-src 'nonce-${nonce}'; style-src 'nonce-${nonce}'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'`,
    )
    expect(one.text.split(`nonce="${nonce}"`).length).toBe(3)
    expect(two.headers['content-security-policy']).not.toBe(policy)
    expect(one.headers).toMatchObject({
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'x-frame-options': 'DENY',
    })
    expect(Object.keys(one.headers).filter(name => name.startsWith('access-control'))).toEqual([])
  })

  const foreign: [string, Record<string, string>][] = [
    ['a port without a host', { Host: ':PORT' }],
    ['another name', { Host: 'evil.example:PORT' }],
    [
      'a name that rebinds, with an origin that fits',
      { Host: 'evil.example:PORT', Origin: 'http://evil.example:PORT' },
    ],
    ['another port', { Host: '127.0.0.1:1' }],
    ['no port', { Host: '127.0.0.1' }],
    ['a foreign origin', { Origin: 'http://evil.example' }],
    ['an origin without a name', { Origin: 'null' }],
    ['our address by another scheme', { Origin: 'https://127.0.0.1:PORT' }],
    ['another site', { ...OPENED, 'Sec-Fetch-Site': 'cross-site' }],
    ['a sibling site', { ...OPENED, 'Sec-Fetch-Site': 'same-site' }],
    ['a named host at another port', { Host: 'tunnel.example:PORT' }],
  ]
  const routes = ['/ping', '/console', '/attachment?cid=b&exp=1&cap=x', '/status', '/events', '/']
  test.each(foreign)('%s is refused on every route, saying what was seen', async (_, given) => {
    const port = node.controlAddress.split(':').at(-1) ?? ''
    const headers = Object.fromEntries(
      Object.entries(given).map(([name, value]) => [name, value.replace('PORT', port)]),
    )
    for (const path of routes) {
      const { status, text } = await ask(node, path, headers)
      expect([path, status, JSON.parse(text).reason]).toEqual([path, 403, 'forbidden_origin'])
    }
    for (const path of ['/console/session', '/console/open'])
      expect((await ask(node, path, headers, '{}')).status).toBe(403)
  })

  test('an empty host and none are refused', async () => {
    expect(await raw(node, 'GET /console HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n')).toMatch(
      /^HTTP\/1\.1 403 /,
    )
    expect(await raw(node, 'GET /console HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1\.[01] 403 /)
  })

  test('the refusal names the host that was seen and the setting that lets it in', async () => {
    const { text } = await ask(node, '/console', { Host: 'other.example:8080' })
    expect(JSON.parse(text).error).toMatch(/"other\.example:8080".*console_hosts of config\.json/)
  })

  test('names of console_hosts are let in, at their port or ours, behind TLS too', async () => {
    const port = node.controlAddress.split(':').at(-1)
    for (const headers of [
      { Host: `box.example:${port}` },
      { Host: 'TUNNEL.example:8443', Origin: 'https://tunnel.example:8443' },
      { Host: 'front.example', Origin: 'https://front.example' },
      { Host: `localhost:${port}`, Origin: `http://localhost:${port}` },
      { Host: `[::1]:${port}` },
    ])
      expect([headers, (await ask(node, '/console', headers)).status]).toEqual([headers, 200])
  })

  test('a ticket is traded for a session once, and is never sent', async () => {
    const host = addressOf(node)
    const ticket = await ticketOf(node)
    expect(ticket).toMatch(/^[\w-]{32}$/)
    expect(tradeBody(ticket, askedOf(host))).not.toContain(ticket)
    // who only saw the name of the ticket has no proof, and spends none
    const forged = { ...JSON.parse(tradeBody(ticket, askedOf(host))), proof: '0'.repeat(64) }
    expect((await ask(node, '/console/session', {}, JSON.stringify(forged))).status).toBe(401)
    const elsewhere = tradeBody(ticket, askedOf('svc-other.localhost:1'))
    expect((await ask(node, '/console/session', {}, elsewhere)).status).toBe(401)

    const session = (await trade(host, ticket)) as Session
    expect((await (await OpenPage.open(host, session)).ask('/status')).status).toBe(200)
    const again = (await trade(host, ticket)) as Answer
    expect([again.status, JSON.parse(again.text)]).toEqual([
      401,
      {
        reason: 'unauthorized',
        error: 'this link was used before, or is older than a minute',
        next: 'svc console',
      },
    ])
    expect((await trade(host, 'x'.repeat(32))) as Answer).toMatchObject({ status: 401 })
    expect((await ask(node, '/console/session', {}, JSON.stringify({ ticket }))).status).toBe(400)
  })

  describe('a page', () => {
    const opened = async () => {
      const session = (await trade(addressOf(node), await ticketOf(node))) as Session
      return { session, page: await OpenPage.open(addressOf(node), session) }
    }

    test('calls operations, each in a sealed call that counts once', async () => {
      const { page } = await opened()
      expect((await page.ask('/status')).status).toBe(200)
      expect((await page.ask('/inbox', '{}')).status).toBe(200)
      expect(await page.ask('/inbox', '{"limit":-1}')).toMatchObject({ status: 400 })
      expect((await page.ask('/nowhere')).status).toBe(404)
      const call = page.call('/status')
      expect((await page.give(call)).status).toBe(200)
      expect((await page.give(call)).status).toBe(401)
    })

    test('is read and answered by nobody between it and its node', async () => {
      const { page } = await opened()
      const call = page.call('/message', '{"text":"for bob alone"}')
      expect(Buffer.from(call.body).toString('latin1')).not.toMatch(/message|bob/)
      const { bytes } = await page.give(page.call('/status'))
      expect(Buffer.from(bytes).toString('latin1')).not.toContain(node.aid)
    })

    test.each([
      ['another number', { path: (path: string) => path.replace(/call=\d+/, 'call=99') }],
      ['a frame left out', { body: (body: Uint8Array) => body.subarray(60) }],
      [
        'one byte changed',
        { body: (body: Uint8Array) => body.map((byte, i) => (i === 30 ? byte ^ 1 : byte)) },
      ],
      ['another page', { path: (path: string) => path.replace(/session=../, 'session=00') }],
      ['another first frame', { path: (path: string) => path.replace('frame=0', 'frame=1') }],
    ] as const)('has its call refused with %s', async (_what, change) => {
      const { page } = await opened()
      const call = page.call('/status')
      const { path = same, body = same }: Change = change
      expect((await page.give({ ...call, path: path(call.path), body: body(call.body) })).status).toBe(401)
    })

    test.each([
      ['seconds ago by the clock', { now: -16_000, up: 0 }, 408],
      ['seconds ago by a clock that nobody sets', { now: 0, up: -16_000 }, 408],
      ['in the future', { now: 3_000, up: 3_000 }, 408],
      ['a moment ago', { now: -5_000, up: -5_000 }, 200],
    ])('has a call that was sealed %s answered with its word, and done or not', async (_when, by, status) => {
      const { page } = await opened()
      const at = { now: node.ctx.now() + by.now, up: performance.now() + by.up }
      expect((await page.give(page.call('/status', undefined, { at }))).status).toBe(status)
    })

    test('is asked for the rest of a call that did not come whole, and not for ever', async () => {
      const { page } = await opened()
      const { body, sealer, ...call } = page.call('/upload?name=a.txt', 'mine')
      const cut = await send(addressOf(node), call.path, { body: body.subarray(0, -21) })
      expect([...new FrameOpener(call.keys.node).open(cut.bytes)].map(({ kind }) => kind)).toEqual(['more'])
      const second = call.path.replace('frame=0', 'frame=2')
      expect((await send(addressOf(node), second, { body: body.subarray(-21) })).status).toBe(200)
      expect((await send(addressOf(node), second, { body })).status).toBe(401)
      expect(sealer.count).toBe(3)
    })

    test('has a question refused whose end is missing, and a target that is none', async () => {
      const { page } = await opened()
      const question = page.call('/status')
      expect((await page.give({ ...question, body: question.body.subarray(0, -21) })).status).toBe(400)
      expect((await page.ask('http://[')).status).toBeGreaterThanOrEqual(400)
    })

    test('whose key is another one is not opened, and whose host is another one is told no proof', async () => {
      const { session } = await opened()
      const forged = { ...session, key: new Uint8Array(32) }
      await expect(OpenPage.open(addressOf(node), forged)).rejects.toThrow('401')
      // somebody at another port passes on what the page there says
      const port = node.controlAddress.split(':').at(-1)
      const proof = pageProof(session.key, { host: 'localhost:4', nonce: '0'.repeat(32) })
      const body = JSON.stringify({ session: session.session, nonce: '0'.repeat(32), proof })
      expect((await ask(node, '/console/open', { Host: `localhost:${port}` }, body)).status).toBe(401)
    })

    test('opens as often as it asks, and what counted before counts no second time', async () => {
      const { session, page } = await opened()
      expect((await page.ask('/status')).status).toBe(200)
      const again = await OpenPage.open(addressOf(node), session)
      expect((await again.ask('/status')).status).toBe(401)
      expect((await again.ask('/status')).status).toBe(200)
      expect((await page.ask('/status')).status).toBe(401)
    })
  })

  test('nothing but the token or a page that proves itself calls operations', async () => {
    expect((await ask(node, '/status')).status).toBe(401)
    expect((await ask(node, '/status', { Cookie: 'token=x' })).status).toBe(401)
    expect((await ask(node, '/console/ticket', {}, '{}')).status).toBe(401)
    expect((await ask(node, '/status', { Authorization: 'svc-page x' })).status).toBe(401)
  })

  test.runIf(isLinux && process.getuid?.() === 0)(
    'another user of this machine is refused page and trade, and spends no ticket',
    async () => {
      const ticket = await ticketOf(node)
      expect(await askAs(65534, node, 'GET', '/console')).toMatch(/^403 .*another user of this machine/)
      const body = tradeBody(ticket, askedOf(addressOf(node)))
      expect(await askAs(65534, node, 'POST', '/console/session', body)).toMatch(/^403 .*forbidden_origin/)
      expect(await trade(addressOf(node), ticket)).toMatchObject({ session: expect.any(String) })
      expect(await askAs(0, node, 'GET', '/console')).toMatch(/^200 /)
    },
  )

  test.runIf(isLinux && process.getuid?.() === 0)(
    'another user who sends no more behind a body that nobody reads is refused too',
    async () => {
      expect(await askHalfClosedAs(65534, node)).toMatch(
        /^HTTP\/1\.1 403 [\s\S]*another user of this machine/,
      )
    },
  )
})

describe('a node whose port somebody else has at the other loopback address', () => {
  async function besideThief(config: (port: number) => object) {
    let thief: http.Server
    let port: number
    // a port of the range that nodes are given is left for another one
    do {
      thief = http.createServer((_, response) => response.end('thief'))
      await new Promise<void>(done => void thief.listen({ host: '::1', port: 0, ipv6Only: true }, done))
      ;({ port } = thief.address() as AddressInfo)
    } while (isGivenAddress('127.0.0.1', port))
    const node = await nodeWith(config(port))
    return { node, port, [Symbol.asyncDispose]: () => node.stop().finally(() => thief.close()) }
  }

  test.runIf(hasIpv6)('opens no console where its owner chose the address, and says so', async () => {
    await using found = await besideThief(port => ({ control_addr: `127.0.0.1:${port}` }))
    const { node } = found
    const page = await ask(node, '/console', OPENED)
    expect([page.status, JSON.parse(page.text)]).toEqual([
      403,
      { reason: 'forbidden_origin', error: ALONE, next: 'svc doctor' },
    ])
    await expect(node.handlers.consoleTicket({}, never)).rejects.toMatchObject({ message: ALONE })
    expect((await node.handlers.status(undefined, never)).warnings.join()).toContain(
      'another program has this port at the other loopback address',
    )
  })

  test.runIf(hasIpv6)('takes another port where it may', async () => {
    await using found = await besideThief(() => ({ control_addr: '127.0.0.1:0' }))
    expect(found.node.controlAddress).not.toBe(`127.0.0.1:${found.port}`)
    expect((await ask(found.node, '/console', OPENED)).status).not.toBe(403)
  })
})

/** What comes back for these bytes. */
async function raw(node: Node, bytes: string): Promise<string> {
  const [host = '', port] = node.controlAddress.split(':')
  const socket = connect({ host, port: Number(port) })
  socket.write(bytes)
  const parts: Buffer[] = []
  for await (const part of socket) parts.push(part as Buffer)
  return Buffer.concat(parts).toString()
}

/** What a program of that user gets that says it sends no more behind a body that is not read. */
function askHalfClosedAs(uid: number, node: Node): Promise<string> {
  const [host, port] = node.controlAddress.split(':')
  const script = `const s=require('net').connect({host:'${host}',port:${port},allowHalfOpen:true});
s.end('GET /console HTTP/1.1\\r\\nHost: ${node.controlAddress}\\r\\nContent-Length: 100010\\r\\n\\r\\n'+'x'.repeat(100000));
let t='';s.on('error',()=>0).on('data',d=>t+=d).on('close',()=>console.log(t))`
  return new Promise((resolve, reject) =>
    execFile('/usr/bin/env', ['node', '-e', script], { uid, gid: uid, cwd: '/' }, (error, out) =>
      error === null ? resolve(out) : reject(error),
    ),
  )
}

/** What a program of that user gets. */
function askAs(uid: number, node: Node, method: string, path: string, body = ''): Promise<string> {
  const [host, port] = node.controlAddress.split(':')
  const script = `require('http').request({host:'${host}',port:${port},method:'${method}',path:'${path}'},r=>{let t='';r.on('data',c=>t+=c);r.on('end',()=>console.log(r.statusCode,t))}).end(${JSON.stringify(body)})`
  return new Promise((resolve, reject) =>
    execFile('/usr/bin/env', ['node', '-e', script], { uid, gid: uid, cwd: '/' }, (error, out) =>
      error === null ? resolve(out) : reject(error),
    ),
  )
}

describe('the console needs a ticket', () => {
  test.each([
    [
      'where programs answer for others',
      { auto_reply: { backend: 'exec' as const, command: 'cat' } },
      'ticket',
    ],
    ['where its owner says so', { console_ticket: true }, 'wish'],
  ])('%s', async (_, config, lacks) => {
    await using node = await nodeWith(config)
    expect(bootIn(await ask(node, '/console', OPENED))).toMatchObject({ lacks })
    expect(await trade(addressOf(node), await ticketOf(node))).toHaveProperty('key')
  })

  test.runIf(isLinux)('no more where its owner says so', async () => {
    const auto_reply = { backend: 'exec' as const, command: 'cat' }
    await using node = await nodeWith({ auto_reply, console_ticket: false })
    const { host } = new URL(String((await ask(node, '/console', OPENED)).headers.location))
    expect(keyOf(bootIn(await ask(node, '/console', { ...OPENED, Host: host })))).toBeDefined()
  })

  test.runIf(isLinux)(
    'opens at a port of its own by each link, and by nothing else, where no fresh name is wished',
    async () => {
      await using node = await nodeWith({ console_fresh_host: false })
      // never under the address that lasts, by whatever name, also where it is loaded anew
      for (const name of ['127.0.0.1', 'localhost', '[::1]'])
        for (const site of ['none', 'same-origin']) {
          const Host = `${name}:${node.controlAddress.split(':').at(-1)}`
          const answer = await ask(node, '/console', { ...OPENED, Host, 'Sec-Fetch-Site': site })
          expect(bootIn(answer)).toEqual({ build: expect.any(String), lacks: 'place' })
        }
      const places = new Set<string>()
      for (let n = 0; n < 10; n++) {
        const { console_url } = await node.handlers.consoleTicket({}, never)
        const { host, hash } = new URL(console_url)
        expect(host).toMatch(/^127\.0\.0\.1:\d+$/)
        expect(await trade(host, hash.slice(3))).toHaveProperty('key')
        places.add(host)
      }
      expect(places.has(addressOf(node))).toBe(false)
      expect(places.size).toBe(10)
      const [oldest = '', ...others] = places
      await expect(send(oldest, '/ping')).rejects.toThrow('ECONNREFUSED')
      const newest = others.at(-1) ?? ''
      expect((await send(newest, '/ping')).status).toBe(200)
      // each place answers to its own names
      expect((await send(newest, '/ping', { headers: { Host: addressOf(node) } })).status).toBe(403)
    },
  )

  test('a node that others can reach puts a session into no page', async () => {
    await using node = await nodeWith({ control_addr: '0.0.0.0:0', console_ticket: false })
    expect(bootIn(await ask(node, '/console', { ...OPENED, Host: addressOf(node) }))).toMatchObject({
      lacks: 'loopback',
    })
    const { console_url } = await node.handlers.consoleTicket({}, never)
    expect(console_url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/console#t=/)
  })
})

test('a call of a page that was forgotten while its body came is not counted, also where the page opens again', () => {
  const pages = new PageSessions(
    'the token',
    n => randomBytes(n),
    () => ({ now: 0, up: 0 }),
  )
  const { session, key } = pages.issue()
  const open = (given: { session: string; key: Uint8Array }) => {
    const asked = askedOf('here')
    return pages.open(
      { session: given.session, nonce: asked.nonce, proof: pageProof(given.key, asked) },
      'here',
    )
  }
  open({ session, key })
  const call = pages.call({ session, counter: 1 }, 'here')
  for (let n = 0; n < PAGES_MAX; n++) open(pages.issue())
  open({ session, key })
  expect(call?.count()).toBe(false)
  expect(pages.call({ session, counter: 1 }, 'here')?.count()).toBe(true)
})

test.each([
  ['127.0.0.1', true],
  ['::1', true],
  ['::ffff:127.0.0.1', true],
  ['192.0.2.7', false],
  ['::ffff:192.0.2.7', false],
  ['fe80::1', false],
  [undefined, false],
])('a ticket from %s is traded: %s', async (remoteAddress, isTraded) => {
  const random = (length: number) => new Uint8Array(length)
  const tickets = new Tickets(Date.now, random)
  const { name: ticket } = tickets.issue()
  const pages = new PageSessions('the token', random, () => ({ now: 0, up: 0 }))
  const whose = async () => 'unknown' as const
  const parts = { tickets, pages, control: new ControlAddress(), whose }
  const request = { socket: { remoteAddress }, headers: { host: 'here' } } as http.IncomingMessage
  const given = JSON.parse(tradeBody(ticket, askedOf('here'))) as Parameters<typeof tradeTicket>[2]
  const traded = tradeTicket(parts, request, given).then(
    () => 'traded',
    error => (error as { code: string }).code,
  )
  expect(await traded).toBe(isTraded ? 'traded' : 'forbidden_origin')
  expect(tickets.take(ticket)).toBe(!isTraded)
})

test.each([
  ['console_hosts', ['http://x.example']],
  ['console_hosts', ['x.example/console']],
  ['console_hosts', Array(17).fill('x.example')],
  ['console_ticket', 'yes'],
])('%s: %j is no setting', async (name, value) => {
  const dir = mkdtempSync(join(tmpdir(), 'svc-console-'))
  expect(() => writeConfig(dir, { [name]: value })).toThrow(name)
})

describe('a ticket', () => {
  test('is open for a minute, with sixteen others at most', () => {
    let now = 1000
    let made = 0
    const tickets = new Tickets(
      () => now,
      length => new Uint8Array(length).fill(made++),
    )
    const { name: ticket, expiresAt } = tickets.issue()
    expect(expiresAt).toBe(now + ONCE_LIFE_MS)
    now = expiresAt
    expect(tickets.take(ticket)).toBe(false)
    now = 2000
    const issued = Array.from({ length: 17 }, () => tickets.issue().name)
    expect(issued.map(one => tickets.take(one))).toEqual([false, ...Array(16).fill(true)])
    expect(tickets.take(issued[3] ?? '')).toBe(false)
  })
})

describe('whose connection it is', () => {
  const table = (...rows: string[]) => {
    const path = join(mkdtempSync(join(tmpdir(), 'svc-tcp-')), 'tcp')
    const head = '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid'
    writeFileSync(path, [head, ...rows].join('\n'))
    return [path]
  }
  const row = (local: string, remote: string, uid: number, state = '01') =>
    `   0: ${local} ${remote} ${state} 00000000:00000000 00:00000000 00000000 ${uid} 0 1`
  const own = process.getuid?.() ?? 0
  const ends = {
    remoteAddress: '127.0.0.1',
    remotePort: 0x1234,
    localAddress: '127.0.0.1',
    localPort: 0x9b83,
  }
  const [mine, theirs] = ['0100007F:9B83', '0100007F:1234']

  test.runIf(isLinux)('is read from the other end, in every state in which a program holds it', async () => {
    for (const state of ['04', '05', '08'])
      expect(await peerUser(ends, table(row(theirs, mine, own + 1, state)))).toBe('other')
    const left = row(theirs, mine, own, '05').replace(/1$/, '0')
    expect(await peerUser(ends, table(left))).toBe('unknown')
    expect(await peerUser(ends, table(left, row(mine, theirs, own)))).toBe('nobody')
    expect(await peerUser(ends, table(row(mine, theirs, own + 1), row(theirs, mine, own)))).toBe('same')
    expect(await peerUser(ends, table(row(mine, theirs, own), row(theirs, mine, own + 1)))).toBe('other')
    expect(await peerUser(ends, table(row(theirs, mine, own, '06')))).toBe('unknown')
    expect(await peerUser(ends, table(row('0100007F:1235', mine, own)))).toBe('unknown')
    expect(await peerUser(ends, ['/nowhere'])).toBe('unknown')
  })

  test.runIf(isLinux)('is asked for no connection that has ended', async () => {
    expect(await peerUser({ ...ends, destroyed: true }, table(row(theirs, mine, own)))).toBe('unknown')
  })

  test.runIf(isLinux)('is read once for all who ask together', async () => {
    const [path = ''] = table()
    const fifo = `${path}.fifo`
    execFileSync('mkfifo', [fifo])
    const looks = new Lookups([fifo], systemTimers)
    const found = [5, 6, 7].map(user =>
      looks.find({ theirs: [`${theirs} ${user}`], ours: [], isGone: () => false }),
    )
    // a second reading of the pipe would wait for another writer
    writeFileSync(path, [5, 6, 7].map(user => row(theirs, `${user}`, user)).join('\n'))
    execFile('sh', ['-c', 'cat "$1" > "$2"', 'sh', path, fifo])
    expect(await Promise.all(found)).toEqual([5, 6, 7])
  })

  test.runIf(isLinux)("is nobody's where root holds the other end, unless the node is root's", async () => {
    expect(await peerUser(ends, table(row(theirs, mine, 0)), 1000)).toBe('unknown')
    expect(await peerUser(ends, table(row(theirs, mine, 1001)), 1000)).toBe('other')
    expect(await peerUser(ends, table(row(theirs, mine, 0)), 0)).toBe('same')
  })

  test.runIf(isLinux)('is read for IPv6, and for IPv4 that came over it', async () => {
    const six = { ...ends, remoteAddress: '::1', localAddress: '::1' }
    const [here, there] = ['00000000000000000000000001000000:9B83', '00000000000000000000000001000000:1234']
    expect(await peerUser(six, table(row(there, here, own)))).toBe('same')
    const mapped = { ...ends, remoteAddress: '::ffff:127.0.0.1', localAddress: '::ffff:127.0.0.1' }
    const long = '0000000000000000FFFF00000100007F'
    expect(await peerUser(mapped, table(row(theirs, `${mine}`, own)))).toBe('same')
    expect(await peerUser(mapped, table(row(`${long}:1234`, `${long}:9B83`, own + 1)))).toBe('other')
  })

  test.runIf(existsSync('/proc/net/tcp'))('is that of this process over a real connection', async () => {
    const server = http.createServer((request, response) => {
      void peerUser(request.socket).then(user => response.end(user))
    })
    await new Promise<void>(done => server.listen(0, '::', done))
    const { port } = server.address() as { port: number }
    for (const host of ['127.0.0.1', '[::1]'])
      expect(await (await fetch(`http://${host}:${port}/`)).text()).toBe('same')
    server.closeAllConnections()
    await new Promise(done => server.close(done))
  })
})
