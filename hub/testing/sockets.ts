/** For tests: plain sockets that send a request as a hostile client would, from any address of the loopback network. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

export type RawReply = { status: number; head: string; json: Record<string, unknown> }

/** A socket at the hub, from this address. */
export async function openSocket(url: string, from = '127.0.0.1'): Promise<Socket> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port), localAddress: from })
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  return socket
}

/** The head of a request, with the version and these headers. */
export function requestHead(method: string, path: string, headers: Record<string, string> = {}): string {
  const lines = Object.entries({ Host: 'localhost', 'X-Svc-Wire': '3', ...headers })
  return `${method} ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`
}

/** The answer that comes next on a socket, or undefined when the connection ends without one. */
export function nextReply(socket: Socket): Promise<RawReply | undefined> {
  let text = ''
  return new Promise(resolve => {
    const look = (chunk: Buffer): void => {
      text += chunk.toString('latin1')
      const end = text.indexOf('\r\n\r\n')
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0)
      if (end < 0 || text.length < end + 4 + length) return
      done(text.slice(0, end), text.slice(end + 4, end + 4 + length))
    }
    const ended = (): void => done('', '')
    const done = (head: string, body: string): void => {
      socket.off('data', look)
      socket.off('close', ended)
      resolve(head === '' ? undefined : { status: Number(head.slice(9, 12)), head, json: read(head, body) })
    }
    socket.on('data', look)
    socket.on('close', ended)
  })
}

function read(head: string, body: string): Record<string, unknown> {
  return /content-type: application\/json/i.test(head) ? (JSON.parse(body) as Record<string, unknown>) : {}
}
