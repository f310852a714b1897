/**
 * The address at which letters are taken without a hub: a process of its own, which believes nothing and hands each letter to
 * the node. Attacker: anybody who reaches it. So connections, bodies and their time are bounded, and nothing touches the disk.
 */
import * as http from 'node:http'
import type { AddressInfo } from 'node:net'
import { type DirectRefusal, directRefusals, directSend } from '../../../protocol/contract/direct.ts'
import type { RequestOf } from '../../../protocol/contract/route.ts'
import { concat, Malformed } from '../../../protocol/encoding/bytes.ts'
import { Refusal } from '../../../protocol/encoding/errors.ts'
import { parseJson } from '../../../protocol/encoding/json.ts'
import type { Timers } from '../../../protocol/timers.ts'
import { Places } from './places.ts'

const CONNECTIONS_MAX = 64
const HEADERS_TIMEOUT_MS = 10_000
const LATE_LOOK_MS = 1_000
/** Letters that are read and handed on at once, and those that wait for it. */
const BOUNDS = { atOnce: 4, waiting: 16, waitMs: 2_000 }
/** For a body, and for each part of it: 64 KiB a second. */
const BODY_FIRST_MS = 5_000
const BODY_BYTES_PER_MS = 64
const BODY_LAST_MS = BODY_FIRST_MS + directSend.limits.bodyBytes / BODY_BYTES_PER_MS
const RETRY_AFTER_S = '5'
const STOP_MS = 500

export type GivenLetter = RequestOf<typeof directSend>

export class LetterRefused extends Refusal<DirectRefusal> {
  override name = 'LetterRefused'
  constructor(code: DirectRefusal) {
    super(code, directRefusals[code][1])
  }
}

/** Hands a letter to the node: its confirmation as base64. Throws {@link LetterRefused}; anything else is `not_now`. */
export type Take = (letter: GivenLetter, signal: AbortSignal) => Promise<string>

export class DirectServer {
  readonly #take: Take
  readonly #timers: Timers
  readonly #places: Places
  readonly #server: http.Server
  readonly #closing = new AbortController()

  constructor(take: Take, timers: Timers) {
    this.#take = take
    this.#timers = timers
    this.#places = new Places(BOUNDS, timers)
    this.#server = http.createServer(
      {
        headersTimeout: HEADERS_TIMEOUT_MS,
        requestTimeout: HEADERS_TIMEOUT_MS + BOUNDS.waitMs + BODY_LAST_MS,
        connectionsCheckingInterval: LATE_LOOK_MS,
      },
      (request, response) => void this.#handle(request, response),
    )
    this.#server.maxConnections = CONNECTIONS_MAX
  }

  /** Resolves with `host:port` once it listens; rejects where it cannot. */
  listen(host: string, port: number): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen(port, host, () => {
        const { address, port: bound } = this.#server.address() as AddressInfo
        resolve(`${address.includes(':') ? `[${address}]` : address}:${bound}`)
      })
    })
  }

  /** What is under way may end within a moment. */
  async close(): Promise<void> {
    this.#closing.abort()
    const closed = new Promise(resolve => this.#server.close(resolve))
    this.#timers.after(STOP_MS, () => this.#server.closeAllConnections()).unref()
    await closed
  }

  async #handle(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    try {
      const length = lengthOf(request)
      using place = await this.#places.take()
      if (place === undefined) throw new LetterRefused('busy')
      const letter = letterIn(await this.#body(request, length))
      const confirmation = await this.#take(letter, this.#closing.signal)
      answer(response, 200, { status: 'taken', confirmation })
    } catch (error) {
      const { code, message } = error instanceof LetterRefused ? error : new LetterRefused('not_now')
      answer(response, directRefusals[code][0], { error: message })
    }
  }

  /** As many bytes as were said, for as long as they may take; what comes later is not read. */
  async #body(request: http.IncomingMessage, length: number): Promise<Uint8Array> {
    const { promise: late, reject } = Promise.withResolvers<never>()
    const patience = this.#timers.after(BODY_FIRST_MS + length / BODY_BYTES_PER_MS, () =>
      reject(new LetterRefused('slow')),
    )
    try {
      return await Promise.race([bytesOf(request), late])
    } finally {
      this.#timers.clear(patience)
    }
  }
}

async function bytesOf(request: http.IncomingMessage): Promise<Uint8Array> {
  const parts: Uint8Array[] = []
  for await (const part of request as AsyncIterable<Uint8Array>) parts.push(part)
  return concat(...parts)
}

/** Bytes of the body, which its head has to say before any of it is read. */
function lengthOf({ method, url, headers }: http.IncomingMessage): number {
  if (url !== directSend.path) throw new LetterRefused('other_path')
  if (method !== directSend.method) throw new LetterRefused('other_method')
  const { 'content-length': said } = headers
  if (said === undefined) throw new LetterRefused('no_length')
  const length = Number(said)
  if (length > directSend.limits.bodyBytes) throw new LetterRefused('too_large')
  return length
}

function letterIn(body: Uint8Array): GivenLetter {
  try {
    const read = directSend.request.safeParse(parseJson(body))
    if (read.success) return read.data
  } catch (error) {
    if (!(error instanceof Malformed)) throw error
  }
  throw new LetterRefused('no_letter')
}

function answer(response: http.ServerResponse, status: number, body: object): void {
  if (response.headersSent || response.destroyed) return
  const text = JSON.stringify(body)
  response
    .writeHead(status, {
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(text),
      'Cache-Control': 'no-store',
      Connection: 'close',
      ...(status === 503 && { 'Retry-After': RETRY_AFTER_S }),
    })
    .end(text)
}
