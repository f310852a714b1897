/**
 * The address at which mail is taken without a hub: a process of its own, which believes nothing and hands each letter and
 * envelope to the node. Attacker: anybody who reaches it. So connections, requests, bodies and their time are bounded, and
 * nothing touches the disk.
 */
import * as http from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  type DirectRefusal,
  directEnvelope,
  directRefusals,
  directSend,
  JUDGED_BYTES_MAX,
} from '../../../protocol/contract/direct.ts'
import type { RequestOf } from '../../../protocol/contract/route.ts'
import { Malformed } from '../../../protocol/encoding/bytes.ts'
import { Refusal } from '../../../protocol/encoding/errors.ts'
import { parseJson } from '../../../protocol/encoding/json.ts'
import type { Timers } from '../../../protocol/timers.ts'
import { Body } from './body.ts'
import { Pace } from './pace.ts'
import { Places } from './places.ts'

const CONNECTIONS_MAX = 64
const HEADERS_TIMEOUT_MS = 10_000
const LATE_LOOK_MS = 1_000
/** Letters and envelopes that are read and handed on at once, and those that wait for it. */
const BOUNDS = { atOnce: 4, waiting: 16, waitMs: 2_000 }
/** Envelopes of which the first bytes are read and judged; they take no place of those that were let in. */
const JUDGED = { atOnce: 8, waiting: 32, waitMs: 2_000 }
const REQUESTS_PER_SECOND = 200
/** For the first bytes of an envelope, while nothing says that it is let in. */
const HEAD_MS = 3_000
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

/** Hands what came to the node; all of them throw {@link LetterRefused}, and anything else is `not_now`. */
export type Hands = {
  /** Its confirmation as base64. */
  letter(letter: GivenLetter, signal: AbortSignal): Promise<string>
  /** Whether an envelope of this size is let in, by its first bytes. */
  admit(head: Uint8Array, size: number, signal: AbortSignal): Promise<void>
  envelope(envelope: Uint8Array, signal: AbortSignal): Promise<string>
}

export class DirectServer {
  readonly #hands: Hands
  readonly #timers: Timers
  readonly #letters: Places
  readonly #places: Places
  readonly #judged: Places
  readonly #pace: Pace
  readonly #server: http.Server
  readonly #closing = new AbortController()

  constructor(hands: Hands, timers: Timers) {
    this.#hands = hands
    this.#timers = timers
    // a letter shows by its whole alone whether it is let in, so that strangers may hold these
    this.#letters = new Places(BOUNDS, timers)
    this.#places = new Places(BOUNDS, timers)
    this.#judged = new Places(JUDGED, timers)
    this.#pace = new Pace(REQUESTS_PER_SECOND, timers)
    this.#server = http.createServer(
      {
        headersTimeout: HEADERS_TIMEOUT_MS,
        requestTimeout: HEADERS_TIMEOUT_MS + HEAD_MS + 2 * BOUNDS.waitMs + BODY_LAST_MS,
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
      const { row, length } = wantedBy(request)
      if (!this.#pace.take()) throw new LetterRefused('busy')
      const body = new Body(request, length)
      const confirmation = await (row === directSend ? this.#letter(body) : this.#envelope(body))
      answer(response, 200, { status: 'taken', confirmation })
    } catch (error) {
      const { code, message } = error instanceof LetterRefused ? error : new LetterRefused('not_now')
      answer(response, directRefusals[code][0], { error: message })
    }
  }

  async #letter(body: Body): Promise<string> {
    using _ = await placeIn(this.#letters)
    const letter = letterIn(await this.#rest(body))
    return await this.#hands.letter(letter, this.#closing.signal)
  }

  /** What is not let in by its first bytes is read no further. */
  async #envelope(body: Body): Promise<string> {
    const { signal } = this.#closing
    {
      using _ = await placeIn(this.#judged)
      const head = await this.#inTime(body.first(Math.min(JUDGED_BYTES_MAX, body.length)), HEAD_MS)
      await this.#hands.admit(head.subarray(0, JUDGED_BYTES_MAX), body.length, signal)
    }
    using _ = await placeIn(this.#places)
    return await this.#hands.envelope(await this.#rest(body), signal)
  }

  /** As many bytes as were said, for as long as they may take. */
  #rest(body: Body): Promise<Uint8Array> {
    return this.#inTime(body.first(body.length), BODY_FIRST_MS + body.length / BODY_BYTES_PER_MS)
  }

  /** What comes later is not read. */
  async #inTime<T>(read: Promise<T>, ms: number): Promise<T> {
    const { promise: late, reject } = Promise.withResolvers<never>()
    const patience = this.#timers.after(ms, () => reject(new LetterRefused('slow')))
    try {
      return await Promise.race([read, late])
    } finally {
      this.#timers.clear(patience)
    }
  }
}

async function placeIn(places: Places): Promise<Disposable> {
  const place = await places.take()
  if (place === undefined) throw new LetterRefused('busy')
  return place
}

const rows = [directSend, directEnvelope]

/** What a request is for, and the bytes of its body, which its head has to say before any of it is read. */
function wantedBy({ method, url, headers }: http.IncomingMessage) {
  const row = rows.find(({ path }) => path === url)
  if (row === undefined) throw new LetterRefused('other_path')
  if (method !== row.method) throw new LetterRefused('other_method')
  const { 'content-length': said } = headers
  if (said === undefined) throw new LetterRefused('no_length')
  const length = Number(said)
  if (length > row.limits.bodyBytes) throw new LetterRefused('too_large')
  return { row, length }
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
