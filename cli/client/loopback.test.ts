import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { exchange, parseAnswer } from './loopback.ts'

let server: Server
afterEach(() => {
  server?.closeAllConnections()
  server?.close()
})

async function serve(handler: RequestListener): Promise<string> {
  server = createServer(handler).listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}
const ask = (address: string, more = {}) =>
  exchange({
    method: 'POST',
    address,
    path: '/x?y=1',
    headers: { A: 'b' },
    body: '{"ü":1}',
    timeoutMs: 2_000,
    ...more,
  })

describe('an exchange with the local node', () => {
  test('sends method, path, headers and body, and reads an answer of known length', async () => {
    const address = await serve((request, response) => {
      let text = ''
      request.on('data', chunk => {
        text += String(chunk)
      })
      request.on('end', () => {
        const seen = JSON.stringify([
          request.method,
          request.url,
          request.headers['a'],
          request.headers.host,
          text,
        ])
        response.setHeader('Content-Length', Buffer.byteLength(seen))
        response.end(seen)
      })
    })
    const answer = await ask(address)
    expect([answer.status, JSON.parse(answer.text)]).toEqual([
      200,
      ['POST', '/x?y=1', 'b', address, '{"ü":1}'],
    ])
  })

  test('reads a chunked answer, and any status', async () => {
    const address = await serve((_, response) => {
      response.writeHead(409)
      response.write('first ')
      setTimeout(() => response.end('second ü'), 20)
    })
    expect(await ask(address)).toEqual({ status: 409, text: 'first second ü' })
  })

  test('an answer of known length is there with its last byte, though the connection stays', async () => {
    const server = createTcpServer(socket => {
      socket.on('error', () => {})
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nwhole ')
      setTimeout(() => socket.write('!'), 20)
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    expect(await ask(`127.0.0.1:${port}`)).toEqual({ status: 200, text: 'whole !' })
    server.close()
  })

  test('an answer that ends early, none at all and silence are failures', async () => {
    const address = await serve((request, response) => {
      if (request.url === '/cut') {
        response.writeHead(200, { 'Content-Length': '100' })
        response.write('short')
        setTimeout(() => response.destroy(), 20)
      } else if (request.url === '/gone') response.destroy()
    })
    await expect(ask(address, { path: '/cut' })).rejects.toThrow(/truncated|hang up|ECONNRESET/)
    await expect(ask(address, { path: '/gone' })).rejects.toThrow(/without an answer|ECONNRESET/)
    await expect(ask(address, { path: '/silence', timeoutMs: 50 })).rejects.toThrow(/no answer within 0.05 s/)
    await expect(ask('127.0.0.1:1')).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  })

  test('what is no HTTP, or is chunked wrongly, is refused', () => {
    for (const text of [
      '',
      'SSH-2.0-x\r\n\r\n',
      'HTTP/1.1 200 OK\r\n',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab',
    ]) {
      expect(() => parseAnswer(Buffer.from(text))).toThrow()
    }
  })
})
