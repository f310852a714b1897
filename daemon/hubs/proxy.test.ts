/** Calls to hubs by way of the proxy of the environment, over real sockets, in a process of their own. */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'

const AUTHORIZATION = `Basic ${Buffer.from('user:of the company').toString('base64')}`
const asked: string[] = []
const proxy = createServer()
const hub = createServer((_, response) => response.end('the hub'))
const portOf = (server: Pick<typeof hub, 'address'>) => (server.address() as AddressInfo).port

// as a proxy of a company does: it wants a password, and knows names that this machine does not
proxy.on('connect', (request: IncomingMessage, socket: Socket) => {
  const { url = '' } = request
  asked.push(url)
  if (request.headers['proxy-authorization'] !== AUTHORIZATION)
    return void socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n')
  const target = connect(Number(url.split(':')[1]), '127.0.0.1', () => {
    socket.write('HTTP/1.1 200 Connection Established\r\n\r\n')
    target.pipe(socket)
    socket.pipe(target)
  })
  for (const end of [target, socket]) end.on('error', () => undefined)
})

// without TLS it is asked for the whole address
proxy.on('request', (request, response) => {
  const target = new URL(request.url ?? '')
  asked.push(target.host)
  const isLetIn = request.headers['proxy-authorization'] === AUTHORIZATION
  if (isLetIn) response.end('the hub')
  else response.writeHead(407).end('who are you?')
})

beforeAll(async () => {
  for (const server of [proxy, hub, sealed]) await once(server.listen(0, '127.0.0.1'), 'listening')
})
afterAll(() => {
  for (const server of [proxy, hub, sealed]) server.close().closeAllConnections()
})
beforeEach(() => {
  asked.length = 0
})

const ANSWERS = 'the hub\n'.repeat(3)
const PROGRAM = `
import { Connections } from './daemon/hubs/http.ts'
import { describe } from './daemon/hubs/failures.ts'
const connections = new Connections()
const sends = [connections.signed, connections.mail('a recipient'), connections.question]
for (const send of sends) {
  const call = send({ method: 'GET', url: process.argv[1], headers: {} })
  console.log(await call.then(answer => answer.text(), describe))
}
await connections.close()
`

const tls = (name: string) => new URL(`../../fixtures/tls/${name}`, import.meta.url).pathname
const sealed = createSecureServer(
  { key: readFileSync(tls('hub.key.pem')), cert: readFileSync(tls('hub.pem')) },
  (_, response) => response.end('the hub'),
)

/** The same for the `fetch` of everything else, and for a command. */
const OTHERS = `
import { setGlobalProxyFromEnv } from 'node:http'
import { hubSend } from './cli/client/hub.ts'
import { processIo } from './cli/io.ts'
import { proxiesIn } from './protocol/contract/proxies.ts'
const proxies = proxiesIn(process.env)
if (proxies !== undefined) setGlobalProxyFromEnv(proxies)
const asked = [
  fetch(process.argv[1]),
  hubSend({ ...processIo(), quiet: true }, 5000)({ method: 'GET', url: process.argv[1], headers: {} }),
]
for (const call of asked) console.log(await call.then(answer => answer.text(), error => 'failed: ' + error))
`

function call(url: string, env: Record<string, string>, program = PROGRAM): Promise<string> {
  const root = new URL('../..', import.meta.url)
  return new Promise((resolve, reject) =>
    execFile(
      process.execPath,
      ['--input-type=module', '--eval', program, url],
      { cwd: root, env: { PATH: process.env['PATH'], ...env } },
      (error, out) => (error === null ? resolve(out) : reject(error)),
    ),
  )
}

const proxied = (password = 'of%20the%20company') => `http://user:${password}@127.0.0.1:${portOf(proxy)}`
const named = () => `http://hub.test:${portOf(hub)}/`

test('go through it with its password, those that name the signer and those that do not', async () => {
  expect(await call(named(), { HTTP_PROXY: proxied() })).toBe(ANSWERS)
  expect(asked).toEqual(Array(3).fill(`hub.test:${portOf(hub)}`))
  expect(await call(named(), { http_proxy: proxied() })).toBe(ANSWERS)
})

test('never go through it to this machine, nor to what NO_PROXY names', async () => {
  const local = `http://127.0.0.1:${portOf(hub)}/`
  expect(await call(local, { HTTP_PROXY: proxied() })).toBe(ANSWERS)
  const excepted = await call(named(), { HTTP_PROXY: proxied(), NO_PROXY: 'other.test,hub.test' })
  expect(excepted).toMatch(/^(hub unreachable: .*\n){3}$/)
  expect(asked).toEqual([])
})

test('fail where the proxy does not let them in', async () => {
  const unreached = /^(hub unreachable: .*\n){3}$/
  expect(await call(named(), { HTTP_PROXY: proxied('wrong') })).toMatch(unreached)
  const sealed = `https://hub.test:${portOf(hub)}/`
  const words = /^(hub unreachable: .*a proxy may have refused it\n){3}$/
  expect(await call(sealed, { HTTPS_PROXY: proxied('wrong') })).toMatch(words)
})

test('go through it sealed, by an authority of the company that the owner names', async () => {
  const url = `https://hub.test:${portOf(sealed)}/`
  const env = { HTTPS_PROXY: proxied() }
  expect(await call(url, { ...env, NODE_EXTRA_CA_CERTS: tls('authority.pem') })).toBe(ANSWERS)
  expect(await call(url, env)).toMatch(/^(hub unreachable: .*NODE_EXTRA_CA_CERTS\n){3}$/)
})

test('go through it from a command, and from everything else that a node or a hub asks', async () => {
  const twice = 'the hub\n'.repeat(2)
  expect(await call(named(), { HTTP_PROXY: proxied() }, OTHERS)).toBe(twice)
  expect(asked).toHaveLength(2)
  const url = `https://hub.test:${portOf(sealed)}/`
  const env = { HTTPS_PROXY: proxied(), NODE_EXTRA_CA_CERTS: tls('authority.pem') }
  expect(await call(url, env, OTHERS)).toBe(twice)
  asked.length = 0
  expect(await call(`http://127.0.0.1:${portOf(hub)}/`, { HTTP_PROXY: proxied() }, OTHERS)).toBe(twice)
  expect(asked).toEqual([])
})
