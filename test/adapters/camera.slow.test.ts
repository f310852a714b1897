/** The camera adapter against cameras over real HTTP, good and bad ones, and a real node. */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { cidText, contentId } from '../../protocol/crypto/hash.ts'
import { AdapterWorld, freePort } from './world.ts'

const PICTURE = Buffer.from('ffd8ffe000104a464946', 'hex')
const LIMIT = 2 * 1024 * 1024
const AUTHORIZATION = `Basic ${Buffer.from('user:secret').toString('base64')}`

const sha256 = (...parts: string[]): string => createHash('sha256').update(parts.join(':')).digest('hex')

/** Whether a request proves that whoever sent it knows the password, by RFC 7616. */
function isDigest(
  authorization: string,
  { realm, nonce, username, password }: Record<'realm' | 'nonce' | 'username' | 'password', string>,
): boolean {
  const partOf = (name: string) => new RegExp(`[ ,]${name}="?([^",]+)`).exec(authorization)?.[1] ?? ''
  const [user, what] = [sha256(username, realm, password), sha256('GET', '/')]
  const expected = sha256(user, nonce, partOf('nc'), partOf('cnonce'), 'auth', what)
  return partOf('response') === expected && partOf('qop') === 'auth'
}

describe('a camera', () => {
  const world = new AdapterWorld()
  let server: Server
  let port: number
  /** What it does; each test sets it. */
  let serve: (request: IncomingMessage, response: ServerResponse) => void

  const give = (bytes: Uint8Array, type = 'image/jpeg') => {
    serve = (request, response) => {
      const isKnown = request.headers.authorization === AUTHORIZATION
      if (isKnown) response.setHeader('Content-Type', type).end(bytes)
      else response.writeHead(401, { 'WWW-Authenticate': 'Basic realm="door"' }).end()
    }
  }
  async function listen(): Promise<void> {
    server = createServer((request, response) => serve(request, response)).listen(port, '127.0.0.1')
    await once(server, 'listening')
  }
  function close(): void {
    server.closeAllConnections()
    server.close()
  }
  const read = (more: object = {}) => world.read('door', 'snapshot', more)

  beforeAll(async () => {
    port = await freePort()
    give(PICTURE)
    await world.open()
    const snapshot = `http://127.0.0.1:${port}/`
    const door = {
      device: 'door',
      snapshot,
      stream: 'rtsp://127.0.0.1/door',
      username: 'user',
      password: 'secret',
    }
    const cameras = [
      { ...door, timeout_ms: 3000 },
      { device: 'stranger', snapshot },
    ]
    world.adapter('camera', world.settings({ poll_ms: 200, cameras }))
    expect(await read()).toMatchObject({ status: 'UNAVAILABLE', message: 'door has not described itself' })
    await listen()
    await world.until('door', 'snapshot', 'OK')
  })
  afterAll(async () => {
    close()
    await world.close()
  })

  test('gives a picture as an artifact with the id of its bytes, and the picture to who asks for it', async () => {
    const artifact = { path: 'snapshot', size_bytes: 10, media_type: 'image/jpeg' }
    expect(await read()).toMatchObject({
      status: 'OK',
      artifacts: [{ ...artifact, content_cid: cidText(contentId(PICTURE)) }],
      evidence: { protocol: 'camera', requested: 'snapshot', native_ack: true, verify_trust: 2 },
    })
    expect((await read({ content: true })).evidence['observed_state']).toBe(PICTURE.toString('base64'))
  })

  test('names its stream', async () => {
    expect((await world.read('door', 'stream')).artifacts).toEqual([
      { path: 'rtsp://127.0.0.1/door', media_type: 'RTSP' },
    ])
  })

  test('that gives an empty frame has given nothing', async () => {
    give(new Uint8Array())
    const empty = await read()
    expect([empty.status, empty.artifacts]).toEqual(['UNVERIFIED', undefined])
  })

  test.each([
    ['too much', () => give(new Uint8Array(LIMIT + 1)), `the picture has more than ${LIMIT} bytes`],
    ['a page', () => give(PICTURE, 'text/html'), 'the camera answered with no picture'],
    [
      'another address',
      () => {
        serve = (_, response) => response.writeHead(302, { Location: 'http://127.0.0.1:1/' }).end()
      },
      'the camera answered HTTP 302',
    ],
  ])('that gives %s has failed', async (_, set, message) => {
    set()
    expect(await read()).toMatchObject({ status: 'FAILED', message })
  })

  test('that wants a password is there, and gives nothing', async () => {
    give(PICTURE)
    expect(await world.read('stranger', 'snapshot')).toMatchObject({
      ...{ status: 'FAILED', message: 'the camera answered HTTP 401' },
    })
  })

  test('that asks for Digest gets no password, and gives its picture', async () => {
    const seen: string[] = []
    const realm = 'door, "front"'
    serve = (request, response) => {
      const { authorization = '' } = request.headers
      if (authorization !== '') seen.push(authorization)
      if (isDigest(authorization, { realm, nonce: 'n1', username: 'user', password: 'secret' }))
        response.setHeader('Content-Type', 'image/jpeg').end(PICTURE)
      else
        response
          .writeHead(401, {
            'WWW-Authenticate': `Basic realm="door", Digest realm="door, \\"front\\"", qop="auth, auth-int", nonce="n1", algorithm=SHA-256`,
          })
          .end()
    }
    await world.until('door', 'snapshot', 'OK')
    expect(seen.every(one => one.startsWith('Digest ') && !one.includes('secret'))).toBe(true)
  })

  test('that hangs in the middle of a picture is unavailable, and is back when it gives one', async () => {
    serve = (_, response) => response.setHeader('Content-Type', 'image/jpeg').write(PICTURE)
    await world.until('door', 'snapshot', 'UNAVAILABLE')
    give(PICTURE)
    await world.until('door', 'snapshot', 'OK')
  })

  test('that is switched off is offline, and comes back', async () => {
    close()
    await world.until('door', 'snapshot', 'UNAVAILABLE')
    await listen()
    await world.until('door', 'snapshot', 'OK')
  })
})
