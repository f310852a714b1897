import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import * as http from 'node:http'
import { type AddressInfo, connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { cidText } from '../../protocol/crypto/hash.ts'
import { readConfig, writeConfig } from '../home/config.ts'
import { daemonsOf, freeControlPort, isGivenAddress } from '../home/home.ts'
import { proofOf } from '../home/proof.ts'
import { controlSocket, ownSocket } from '../home/socket.ts'
import { type Node, startNode } from '../node.ts'
import { findFile } from '../platform/files.ts'
import { attachmentLink } from './attachments.ts'

const dir = mkdtempSync(join(tmpdir(), 'svc-control-'))
let node: Node
let token: string

beforeAll(async () => {
  writeConfig(dir, { control_addr: '127.0.0.1:0' })
  node = await startNode({ dir, env: { SVC_RUNTIME_DIR: join(dir, 'run') } })
  token = findFile(join(dir, 'control_token.txt'))?.toString().trim() ?? ''
})

afterAll(() => node.stop())

type Answer = { status: number; headers: http.IncomingHttpHeaders; text: string }

function ask(method: string, path: string, headers: Record<string, string> = {}, body = ''): Promise<Answer> {
  const [host, port] = node.controlAddress.split(':')
  return new Promise((resolve, reject) => {
    const request = http.request({ host, port, method, path, headers, agent: false }, response => {
      let text = ''
      response.on('data', part => {
        text += part
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }))
    })
    request.on('error', reject)
    request.end(body)
  })
}

const soon = () => Date.now() + 60_000
const bearer = () => ({ Authorization: `Bearer ${token}` })

describe('the control interface', () => {
  test('the token is 24 random bytes in hex, readable by its owner only', () => {
    expect(token).toMatch(/^[0-9a-f]{48}$/)
    expect(statSync(join(dir, 'control_token.txt')).mode & 0o777).toBe(0o600)
  })

  test('ping proves to who sends a nonce that it holds the token, for its own address only', async () => {
    const nonce = 'ab'.repeat(16)
    const { proof } = JSON.parse((await ask('GET', `/ping?nonce=${nonce}`)).text)
    expect(proof).toBe(proofOf(token, node.controlAddress, nonce))
    expect(proof).not.toBe(proofOf(token, '127.0.0.1:1', nonce))
    expect(JSON.parse((await ask('GET', '/ping?nonce=x')).text)).toEqual({ ok: true })
  })

  test('the scheme of the token has no case, the token has', async () => {
    const status = async (header: string) => (await ask('GET', '/status', { Authorization: header })).status
    expect([await status(`bearer ${token}`), await status(`BEARER ${token}`)]).toEqual([200, 200])
    expect(await status(`Bearer ${token.toUpperCase()}`)).toBe(/[a-f]/.test(token) ? 401 : 200)
    expect([await status(token), await status(`Basic ${token}`)]).toEqual([401, 401])
  })

  test.each([
    ['limit=1', 200],
    ['limit=50', 200],
    ['limit=0', 400],
    ['limit=51', 400],
    ['limit=1x', 400],
    ['wait_s=0', 200],
    ['wait_s=46', 400],
    ['limit=5&limit=6', 400],
  ])('results of ?%s: %i', async (query, status) => {
    expect((await ask('GET', `/results?${query}`, bearer())).status).toBe(status)
  })

  test('the socket in the data directory is open to its owner only, and asks for no token', async () => {
    const socketPath = join(dir, 'control.sock')
    expect(statSync(socketPath).mode & 0o777).toBe(0o600)
    const answer = await new Promise<http.IncomingMessage>((resolve, reject) =>
      http.get({ socketPath, path: '/status', agent: false }, resolve).on('error', reject),
    )
    answer.resume()
    expect(answer.statusCode).toBe(200)
  })

  test('a program that opens connections without end gets so many, and the programs of this user are answered', async () => {
    const [host = '', port = ''] = node.controlAddress.split(':')
    let ended = 0
    const flood = Array.from({ length: 300 }, () => {
      const socket = connect(Number(port), host, () => socket.write('GET /ping HTTP/1.1\r\nHost: '))
      socket.on('error', () => undefined).on('close', () => ended++)
      return socket
    })
    await expect.poll(() => ended, { timeout: 10_000 }).toBeGreaterThanOrEqual(44)
    expect(ended).toBeLessThan(100)
    const socketPath = join(dir, 'control.sock')
    const answer = await new Promise<http.IncomingMessage>((resolve, reject) =>
      http.get({ socketPath, path: '/status', agent: false }, resolve).on('error', reject),
    )
    answer.resume()
    expect(answer.statusCode).toBe(200)
    await expect.poll(() => findFile(join(dir, 'daemon.log'))?.toString()).toContain('holds all connections')
    for (const socket of flood) socket.destroy()
    await expect
      .poll(() =>
        ask('GET', '/ping').then(
          ({ status }) => status,
          () => 0,
        ),
      )
      .toBe(200)
  })

  test('a data directory with a long name has its socket in the runtime directory, and stays usable after a crash', async () => {
    const long = join(mkdtempSync(join(tmpdir(), 'svc-long-')), 'x'.repeat(100))
    const env = { SVC_RUNTIME_DIR: join(dir, 'long-run') }
    const path = controlSocket(env, long)
    expect(path.startsWith(join(dir, 'long-run'))).toBe(true)
    writeFileSync(path, 'left by a crash')
    mkdirSync(long)
    writeConfig(long, { control_addr: '127.0.0.1:0' })
    await using other = await startNode({ dir: long, env })
    expect([other.aid.length, ownSocket(env, long)]).toEqual([44, path])
    await other.stop()
    expect(ownSocket(env, long)).toBeUndefined()
  })

  test('a data directory that others can enter is named in the status', async () => {
    const warnings = async () =>
      (await node.handlers.status(undefined, new AbortController().signal)).warnings
    expect((await warnings()).join()).not.toContain('chmod')
    chmodSync(dir, 0o755)
    expect((await warnings()).join()).toContain(`chmod 700 ${dir}`)
    chmodSync(dir, 0o700)
  })

  test('the root leads to the console', async () => {
    const { status, headers } = await ask('GET', '/')
    expect([status, headers.location]).toEqual([302, '/console'])
  })

  test('without the bearer token every operation is refused, ping and the console are not', async () => {
    expect((await ask('GET', '/status')).status).toBe(401)
    expect((await ask('GET', '/status', { Authorization: 'Bearer x' })).status).toBe(401)
    expect((await ask('GET', '/events')).status).toBe(401)
    expect(JSON.parse((await ask('GET', '/ping')).text)).toEqual({ ok: true })
    expect((await ask('GET', '/')).headers.location).toBe('/console')
    expect((await ask('GET', '/console')).text).toContain('This build has no console')
  })

  test('a foreign Host, a foreign Origin and a cross-site fetch are refused on every route', async () => {
    const [, port] = node.controlAddress.split(':')
    const foreign: Record<string, string>[] = [
      { Host: 'evil.example' },
      { Host: `evil.example:${port}` },
      { Host: '127.0.0.1' },
      { Host: '127.0.0.1:1' },
      { Origin: 'http://evil.example' },
      { Origin: 'null' },
      { 'Sec-Fetch-Site': 'cross-site' },
      { 'Sec-Fetch-Site': 'same-site' },
    ]
    for (const headers of foreign)
      for (const path of ['/ping', '/console', '/status', '/attachment?cid=b&exp=1&cap=x'])
        expect([path, headers, (await ask('GET', path, { ...bearer(), ...headers })).status]).toEqual([
          path,
          headers,
          403,
        ])
    expect(
      (await ask('GET', '/ping', { Host: `localhost:${port}`, Origin: `http://localhost:${port}` })).status,
    ).toBe(200)
  })

  test.each(['Host', 'Origin', 'Sec-Fetch-Site'])('%s twice is refused, whichever is ours', async name => {
    const own = node.controlAddress
    const ours = { Host: own, Origin: `http://${own}`, 'Sec-Fetch-Site': 'none' }
    for (const foreign of ['evil.example', 'http://evil.example', 'none', own]) {
      const extra = `${name}: ${foreign}`
      const lines = Object.entries(ours).map(([given, value]) => `${given}: ${value}`)
      for (const head of [
        [...lines, extra],
        [extra, ...lines],
      ])
        expect([head, await statusOf(head)]).toEqual([head, '403'])
      expect(await statusOf(lines)).toBe('200')
    }
  })

  test('an unknown member, a duplicate member and a body that is too large are refused', async () => {
    expect((await ask('POST', '/evidence', bearer(), '{"limit":1,"x":2}')).status).toBe(400)
    expect((await ask('POST', '/evidence', bearer(), '{"limit":1,"limit":2}')).status).toBe(400)
    expect((await ask('POST', '/evidence', bearer(), `{"event_type":"${'x'.repeat(70_000)}"}`)).status).toBe(
      413,
    )
    expect((await ask('GET', '/nothing', bearer())).status).toBe(404)
    expect((await ask('POST', '/evidence', bearer(), '{"limit":1}')).status).toBe(200)
  })

  test('a body that is refused before its end still lets the client read why', async () => {
    const [host = '', port] = node.controlAddress.split(':')
    const socket = connect({ host, port: Number(port) })
    const body = Buffer.alloc(32 * 1024 * 1024, 'x')
    socket.write(
      `POST /evidence HTTP/1.1\r\nHost: ${node.controlAddress}\r\nAuthorization: Bearer ${token}\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n`,
    )
    // As most clients do: everything is written, and only then is the answer read.
    const written = await new Promise<Error | undefined>(done => {
      socket.once('error', done)
      socket.write(body, error => done(error ?? undefined))
    })
    const read: Buffer[] = []
    for await (const part of socket) read.push(part as Buffer)
    expect(written).toBeUndefined()
    expect(Buffer.concat(read).toString()).toMatch(/^HTTP\/1\.1 413 [\s\S]*"reason":"too_large"/)
  })

  test('requests that do not wait for their answers end their connection', async () => {
    const [host = '', port] = node.controlAddress.split(':')
    const socket = connect({ host, port: Number(port) })
    socket.on('error', () => undefined)
    const started = performance.now()
    socket.resume().write(`GET /ping HTTP/1.1\r\nHost: ${node.controlAddress}\r\n\r\n`.repeat(40_000))
    await new Promise(done => socket.once('close', done))
    expect(performance.now() - started).toBeLessThan(2000)
    expect((await ask('GET', '/ping')).status).toBe(200)
  })

  test.each(['//', 'http://['])('an address that is none is refused, and not logged: %s', async path => {
    const log = () => readFileSync(join(dir, 'daemon.log'), 'utf8').split('"msg":"control"').length
    const before = log()
    const { status, text } = await ask('GET', path)
    expect([status, JSON.parse(text).reason]).toEqual([400, 'bad_request'])
    expect(log()).toBe(before)
  })

  test('an attachment that goes while it is asked for is not there, and ends nothing', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'svc-gone-')), 'gone.txt')
    writeFileSync(file, 'gone')
    const cid = cidText(node.ctx.attachments.take(file).cid)
    const find = vi.spyOn(node.ctx.attachments, 'find').mockReturnValueOnce(join(dir, 'not-there'))
    expect((await ask('GET', attachmentLink(token, cid, soon()))).status).toBe(404)
    find.mockRestore()
    expect((await ask('GET', attachmentLink(token, cid, soon()))).text).toBe('gone')
  })

  test('a refusal has a code, a sentence and the next step', async () => {
    const answer = await ask('POST', '/thread', bearer(), JSON.stringify({ interaction_id: 'A'.repeat(22) }))
    expect([answer.status, JSON.parse(answer.text)]).toEqual([
      404,
      {
        reason: 'unknown_interaction',
        error: expect.stringContaining('there is no interaction'),
        next: 'svc inbox\nsvc results',
      },
    ])
  })

  test('an attachment link is unguessable, expires, and is never shown inline', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'svc-page-')), 'page.html')
    writeFileSync(file, '<script>1</script>')
    const cid = cidText(node.ctx.attachments.take(file).cid)
    const good = await ask('GET', attachmentLink(token, cid, soon()))
    expect([
      good.status,
      good.text,
      good.headers['content-disposition'],
      good.headers['content-security-policy'],
    ]).toEqual([200, '<script>1</script>', 'attachment', "sandbox; default-src 'none'"])
    expect((await ask('GET', attachmentLink(token, cid, Date.now() - 1))).status).toBe(404)
    expect((await ask('GET', attachmentLink('other', cid, soon()))).status).toBe(404)
  })

  test('a link is given to what a task brought, and to nothing else that the node keeps', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'svc-kept-')), 'kept.txt')
    writeFileSync(file, 'kept')
    const cid = cidText(node.ctx.attachments.take(file).cid)
    const asked = (interaction_id: string) =>
      ask('POST', '/attachment/link', bearer(), JSON.stringify({ interaction_id, cid }))
    expect(JSON.parse((await asked('A'.repeat(22))).text).reason).toBe('unknown_interaction')
    expect(
      (await ask('POST', '/attachment/link', bearer(), '{"interaction_id":"x","cid":"../x"}')).status,
    ).toBe(400)
  })

  test.runIf(existsSync('/proc/self/fd'))(
    'a client that goes away in the middle of an attachment leaves no open file',
    async () => {
      const file = join(mkdtempSync(join(tmpdir(), 'svc-large-')), 'large.bin')
      writeFileSync(file, new Uint8Array(8 * 1024 * 1024))
      const cid = cidText(node.ctx.attachments.take(file).cid)
      const path = node.ctx.attachments.find(cid) as string
      const isOpen = () =>
        readdirSync('/proc/self/fd').some(fd => {
          try {
            return readlinkSync(`/proc/self/fd/${fd}`) === path
          } catch {
            return false
          }
        })
      const [host, port] = node.controlAddress.split(':')
      await new Promise<void>((done, fail) => {
        const link = attachmentLink(token, cid, soon())
        const request = http.get({ host, port, path: link, agent: false }, response => {
          response.once('data', () => {
            expect(isOpen()).toBe(true)
            response.destroy()
            done()
          })
        })
        request.on('error', fail)
      })
      while (isOpen()) await new Promise(resolve => setTimeout(resolve, 5))
      expect((await ask('GET', '/ping')).status).toBe(200)
    },
  )

  test('events carry ids; a cursor replays what was missed and one that is too old is answered with reset', async () => {
    const { events } = node.ctx
    const cursor = events.lastId
    events.emit('inbox', { interaction_id: 'x' })
    events.emit('message', { interaction_id: 'x' })
    expect(await firstEvents(`/events?since=${cursor}`, 2)).toEqual(['inbox', 'message'])
    expect(await firstEvents('/events?since=1', 1)).toEqual(['reset'])
  })

  test('a second node on the same directory is refused, naming the first', async () => {
    const { lockDirectory } = await import('../home/lock.ts')
    const other = mkdtempSync(join(tmpdir(), 'svc-lock-'))
    const held = lockDirectory(other)
    expect(readFileSync(join(other, 'daemon.lock'), 'utf8')).toBe(`${process.pid}\n`)
    expect(() => lockDirectory(other)).toThrow(new RegExp(`pid ${process.pid}.*already runs.*svc stop`))
    held[Symbol.dispose]()
    expect(() => lockDirectory(other)[Symbol.dispose]()).not.toThrow()
  })

  test('a command that works on a directory is said to be one, and no node', async () => {
    const { holderOf, lockDirectory } = await import('../home/lock.ts')
    const other = mkdtempSync(join(tmpdir(), 'svc-lock-'))
    expect(holderOf(other)).toBeUndefined()
    expect(readdirSync(other)).toEqual([])
    {
      using _held = lockDirectory(other, 'command')
      expect(() => lockDirectory(other)).toThrow(
        `another command of svc (pid ${process.pid}) works on ${other}; repeat this once it has ended`,
      )
      expect(holderOf(other)?.isNode).toBe(false)
    }
    expect(holderOf(other)).toBeUndefined()
    using _node = lockDirectory(other)
    expect(holderOf(other)?.isNode).toBe(true)
  })

  test('a pid file that a crash left behind refuses nothing, whichever process has that pid now', async () => {
    const { lockDirectory } = await import('../home/lock.ts')
    const other = mkdtempSync(join(tmpdir(), 'svc-lock-'))
    writeFileSync(join(other, 'daemon.lock'), `${process.ppid}\n`)
    expect(() => lockDirectory(other)[Symbol.dispose]()).not.toThrow()
  })

  test('a port that somebody else holds keeps no node from starting, and status says where it is', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'svc-taken-'))
    const held = await holding(await freeControlPort(new Set()))
    writeConfig(dir, { ...readConfig(dir), control_addr: held.address })
    const env = { SVC_RUNTIME_DIR: join(dir, 'run') }
    await using moved = await startNode({ dir, env })
    expect(moved.controlAddress).not.toBe(held.address)
    expect((await fetch(`http://${moved.controlAddress}/ping`)).status).toBe(200)
    expect(daemonsOf(env)[0]?.control_addr).toBe(moved.controlAddress)
    const { warnings } = await moved.handlers.status(undefined, new AbortController().signal)
    const sentence = `config.json: control_addr ${held.address} is in use by another program, so this node listens on ${moved.controlAddress}`
    expect(warnings).toContainEqual(expect.stringContaining(sentence))
    expect(readConfig(dir).control_addr).toBe(held.address)
    held.server.close()
  })

  test('a new node that lost its port to another one keeps the port it got, and warns of nothing', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'svc-new-'))
    const held = await holding(await freeControlPort(new Set()))
    writeConfig(dir, { ...readConfig(dir), control_addr: held.address })
    await using node = await startNode({ dir, env: { SVC_RUNTIME_DIR: join(dir, 'run') }, isPortNew: true })
    expect(node.controlAddress).not.toBe(held.address)
    expect(readConfig(dir).control_addr).toBe(node.controlAddress)
    const { warnings } = await node.handlers.status(undefined, new AbortController().signal)
    expect(warnings).not.toContainEqual(expect.stringContaining('control_addr'))
    held.server.close()
  })

  test('an address that its owner chose is taken or none', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'svc-chosen-'))
    const held = await holding(await portOfChoice())
    writeConfig(dir, { ...readConfig(dir), control_addr: held.address })
    const started = startNode({ dir, env: { SVC_RUNTIME_DIR: join(dir, 'run') } })
    await expect(started).rejects.toMatchObject({ code: 'EADDRINUSE' })
    held.server.close()
  })

  test('listens on the loopback of IPv6 too, as the address says it', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'svc-v6-'))
    writeConfig(dir, { ...readConfig(dir), control_addr: '[::1]:0' })
    await using six = await startNode({ dir, env: { SVC_RUNTIME_DIR: join(dir, 'run') } })
    expect(six.controlAddress).toMatch(/^\[::1\]:\d+$/)
    expect((await fetch(`http://${six.controlAddress}/ping`)).status).toBe(200)
  })
})

/** The status of a request with these lines of a head, sent as they are. */
function statusOf(lines: readonly string[]): Promise<string | undefined> {
  const [host, port] = node.controlAddress.split(':')
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), host, () => {
      socket.write(['GET /ping HTTP/1.1', ...lines, 'Connection: close', '', ''].join('\r\n'))
    })
    socket.once('data', data => {
      resolve(data.toString().split(' ')[1])
      socket.destroy()
    })
    socket.once('error', reject)
  })
}

/** A free port that no identity is given. */
async function portOfChoice(): Promise<number> {
  const held = await holding(0)
  const port = Number(held.address.split(':')[1])
  const next = isGivenAddress('127.0.0.1', port) ? await portOfChoice() : port
  await new Promise(done => held.server.close(done))
  return next
}

async function holding(port: number) {
  const server = createServer()
  await new Promise<void>(done => server.listen(port, '127.0.0.1', done))
  return { server, address: `127.0.0.1:${(server.address() as AddressInfo).port}` }
}

function firstEvents(path: string, count: number): Promise<string[]> {
  const [host, port] = node.controlAddress.split(':')
  return new Promise((resolve, reject) => {
    const request = http.get({ host, port, path, headers: bearer(), agent: false }, response => {
      let text = ''
      response.on('data', part => {
        text += part
        const types = [...text.matchAll(/^event: (\w+)$/gm)].map(match => match[1] as string)
        if (types.length < count) return
        request.destroy()
        resolve(types.slice(0, count))
      })
      response.on('error', () => undefined)
    })
    request.on('error', error => (request.destroyed ? undefined : reject(error)))
  })
}

describe('a file of the page', () => {
  const upload = (name: string, body: string, headers: Record<string, string> = bearer()) =>
    ask('POST', `/upload?name=${encodeURIComponent(name)}`, headers, body)

  test('lies in a folder that nobody guesses, under a name without a way elsewhere, for its owner alone', async () => {
    const { status, text } = await upload('../../../config.json', 'words')
    const { path, bytes } = JSON.parse(text) as { path: string; bytes: number }
    expect([status, bytes]).toEqual([200, 5])
    expect(path).toMatch(/\/uploads\/[0-9a-f]{32}\/config\.json$/)
    expect([readFileSync(path, 'utf8'), statSync(path).mode & 0o777]).toEqual(['words', 0o600])
    // it may be sent, and what lies beside it may not
    expect(node.ctx.attachments.take(path)).toMatchObject({ name: 'config.json', size: 5 })
    expect(() => node.ctx.attachments.take(join(dir, 'config.json'))).toThrow('belongs to svc itself')
    node.ctx.attachments.uploads.spent([path])
    node.ctx.attachments.uploads.removeOld()
    expect(existsSync(path)).toBe(true)
  })

  test.each([
    ['without the token', {}, 401],
    ['of a page elsewhere', { Origin: 'http://evil.example' }, 403],
    ['of another site', { 'Sec-Fetch-Site': 'cross-site' }, 403],
    ['for another host', { Host: 'evil.example' }, 403],
    ['that is larger than an attachment may be', { 'Content-Length': String(64 * 1024 * 1024 + 1) }, 413],
  ])('%s is not taken', async (_what, headers, status) => {
    const given = status === 401 ? headers : { ...bearer(), ...headers }
    expect((await upload('a.txt', 'x', given)).status).toBe(status)
  })

  test('that is cut off leaves nothing', async () => {
    const count = () => readdirSync(dir, { recursive: true }).length
    const before = count()
    const [host, port] = node.controlAddress.split(':')
    const socket = connect(Number(port), host)
    socket.write(
      `POST /upload?name=a.txt HTTP/1.1\r\nHost: ${node.controlAddress}\r\nAuthorization: Bearer ${token}\r\nContent-Length: 100\r\n\r\nabc`,
    )
    await expect.poll(count).toBeGreaterThan(before)
    socket.destroy()
    await expect.poll(count).toBe(before)
  })
})
