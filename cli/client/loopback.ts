/**
 * One HTTP exchange with a node on this machine, over a bare socket: the runtime's HTTP client alone would double the
 * start of a command. It speaks as little HTTP as the control interface needs, and reads nothing it did not ask for.
 */

import { connect } from 'node:net'
import { Failure } from '../../protocol/encoding/errors.ts'
import { present } from '../../protocol/encoding/present.ts'

export type LoopbackReply = { status: number; text: string }
export type Exchange = {
  method: string
  /** `host:port`. */
  address: string
  /** A socket of this machine, which is asked instead of the address. */
  socket?: string | undefined
  path: string
  headers: Record<string, string>
  body?: string
  timeoutMs: number
  signal?: AbortSignal
}

const ANSWER_BYTES_MAX = 64 * 1024 * 1024
const HEAD_END = Buffer.from('\r\n\r\n')

export class BadAnswer extends Failure {
  override name = 'BadAnswer'
}

/** It was there, and said nothing for too long. */
export class NoAnswer extends Failure {
  override name = 'NoAnswer'
}

export function exchange(given: Exchange): Promise<LoopbackReply> {
  return new Promise((resolve, reject) => {
    const to = given.socket === undefined ? splitAddress(given.address) : { path: given.socket }
    const socket = connect({ ...to, ...present({ signal: given.signal }) })
    const chunks: Buffer[] = []
    let size = 0
    let whole: number | undefined
    socket.setTimeout(given.timeoutMs, () =>
      socket.destroy(new NoAnswer(`no answer within ${given.timeoutMs / 1000} s`)),
    )
    socket.on('connect', () => socket.write(requestBytes(given)))
    socket.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size > ANSWER_BYTES_MAX) return socket.destroy(new BadAnswer('the answer is too large'))
      chunks.push(chunk)
      if (chunks.length === 1) whole = wholeSize(chunk)
      // the end of the connection itself is not waited for
      if (whole !== undefined && size >= whole) socket.destroy()
    })
    socket.on('error', reject)
    socket.on('close', () => {
      try {
        resolve(parseAnswer(Buffer.concat(chunks)))
      } catch (error) {
        reject(error)
      }
    })
  })
}

function splitAddress(address: string): { host: string; port: number } {
  const colon = address.lastIndexOf(':')
  return { host: address.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(address.slice(colon + 1)) }
}

function requestBytes({ method, address, path, headers, body }: Exchange): string {
  const length = body === undefined ? {} : { 'Content-Length': String(Buffer.byteLength(body)) }
  const all = { Host: address, Connection: 'close', ...headers, ...length }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body ?? ''}`
}

/** Bytes of an answer that says its length, where its first bytes hold all of its head. */
function wholeSize(first: Buffer): number | undefined {
  const end = first.indexOf(HEAD_END)
  const length = /\r\ncontent-length: *(\d+)(?=\r\n|$)/i.exec(
    first.toString('latin1', 0, Math.max(0, end)),
  )?.[1]
  return length === undefined ? undefined : end + HEAD_END.length + Number(length)
}

/** Status and body of a whole answer; an answer that is cut short is refused. */
export function parseAnswer(bytes: Buffer): LoopbackReply {
  const end = bytes.indexOf(HEAD_END)
  const [first = '', ...lines] = bytes.toString('latin1', 0, Math.max(0, end)).split('\r\n')
  const status = /^HTTP\/1\.[01] (\d{3})/.exec(first)?.[1]
  if (end < 0 || status === undefined) throw new BadAnswer('the connection ended without an answer')
  const headers = new Map(lines.map(line => splitHeader(line)))
  const rest = bytes.subarray(end + HEAD_END.length)
  return { status: Number(status), text: bodyOf(headers, rest).toString('utf8') }
}

function splitHeader(line: string): [string, string] {
  const colon = line.indexOf(':')
  return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
}

function bodyOf(headers: ReadonlyMap<string, string>, rest: Buffer): Buffer {
  if (headers.get('transfer-encoding')?.toLowerCase() === 'chunked') return unchunk(rest)
  const length = headers.get('content-length')
  if (length !== undefined && rest.length !== Number(length)) throw new BadAnswer('the answer is truncated')
  return rest
}

function unchunk(bytes: Buffer): Buffer {
  const parts: Buffer[] = []
  for (let offset = 0; ; ) {
    const line = bytes.indexOf('\r\n', offset)
    const size = Number.parseInt(bytes.toString('latin1', offset, Math.max(offset, line)), 16)
    if (line < 0 || !Number.isSafeInteger(size)) throw new BadAnswer('the answer is truncated')
    if (size === 0) return Buffer.concat(parts)
    const start = line + 2
    if (start + size + 2 > bytes.length) throw new BadAnswer('the answer is truncated')
    parts.push(bytes.subarray(start, start + size))
    offset = start + size + 2
  }
}
