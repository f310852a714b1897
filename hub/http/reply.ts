/** Sending answers: JSON in one write, and streams by their handler. */
import { type ServerResponse, STATUS_CODES } from 'node:http'
import { shownJson } from '../../protocol/encoding/plain-text.ts'

/** On every answer: its bytes are of the type that it names, whatever they look like. */
export const AS_NAMED = { 'X-Content-Type-Options': 'nosniff' } as const

/** A reply that its handler writes by itself, after the headers that it names. */
export class Streamed {
  readonly headers: Record<string, string>
  readonly write: (response: ServerResponse) => Promise<void>
  readonly status: number
  constructor(
    headers: Record<string, string>,
    write: (response: ServerResponse) => Promise<void>,
    status = 200,
  ) {
    this.headers = headers
    this.write = write
    this.status = status
  }
}

/** A reply whose bytes or media type are not those of the usual JSON answer. */
export function textReply(
  type: string,
  body: string,
  more: Record<string, string> = {},
  status = 200,
): Streamed {
  const bytes = Buffer.from(body)
  const headers = {
    'Content-Type': type,
    'Content-Length': String(bytes.length),
    'Cache-Control': 'no-store',
  }
  return new Streamed({ ...headers, ...more }, async response => void response.write(bytes), status)
}

/** Sends what a handler returned. */
export async function sendReply(response: ServerResponse, reply: unknown): Promise<void> {
  if (!(reply instanceof Streamed)) return sendJson(response, 200, {}, reply)
  // its head goes out with the first piece, so that what fails before it has an answer of its own
  response.statusCode = reply.status
  for (const [name, value] of Object.entries(reply.headers)) response.setHeader(name, value)
  await reply.write(response)
  response.end()
}

export function sendJson(
  response: ServerResponse,
  status: number,
  more: Record<string, string>,
  body: unknown,
): void {
  // Text goes out in one write together with its headers.
  const text = jsonText(body)
  response.writeHead(status, {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(text),
    'Cache-Control': 'no-store',
    ...more,
  })
  response.end(text)
}

/** JSON with every control and invisible character as an escape; most of it stranger's words. */
export const jsonText = (body: unknown): string => shownJson(JSON.stringify(body))

/** The same as text, for a connection that never got as far as a request; it is the last on it. `more` has the date. */
export function rawJson(status: number, more: Record<string, string>, body: unknown): string {
  const text = jsonText(body)
  const lines = Object.entries({
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(text),
    'Cache-Control': 'no-store',
    ...AS_NAMED,
    Connection: 'close',
    ...more,
  }).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${text}`
}

/** Calls back once when the client has gone; returns how to stop listening. */
export function whenClosed(response: ServerResponse, callback: () => void): () => void {
  if (response.destroyed) callback()
  response.once('close', callback)
  return () => response.removeListener('close', callback)
}
