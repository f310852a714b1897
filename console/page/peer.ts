/**
 * The node as this page knows it: another program may take its port while it is stopped, and a page is told nothing by
 * looking. Both prove themselves before anything is asked: before each request, and once for all that follow while a
 * stream of events is open, whose end the page sees. Each request is proven with the key of the page, which is never sent.
 */
import { sha256Hex } from '#crypto'
import {
  type Asked,
  NONCE_BYTES,
  nodeProof,
  pageAuthorization,
  pageProof,
  sameHex,
} from '../../protocol/control/page-key.ts'
import { toHex, utf8 } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import { NodeGone, NodeRefused } from '../../view/door.ts'

export type Session = { session: string; key: Uint8Array }

const EMPTY = sha256Hex(new Uint8Array())
const gone = () => new NodeGone(`no node answers at ${location.host}`, 'svc up')

export const newAsked = (): Asked => ({
  host: location.host.toLowerCase(),
  nonce: toHex(crypto.getRandomValues(new Uint8Array(NONCE_BYTES))),
})

export class Peer {
  readonly #session: Session
  #challenge: string | undefined
  #counter = 0
  #opening: Promise<string> | undefined
  #isWatched = false
  #turns = 0

  constructor(session: Session) {
    this.#session = session
  }

  /** The connection ended: who answers next may be another one. */
  lose(): void {
    this.#turn(false)
  }

  /** The stream of events of this tab is open: whoever proves himself from now on stays until it ends. */
  watch(): void {
    this.#turn(true)
  }

  #turn(isWatched: boolean): void {
    this.#turns += 1
    this.#challenge = undefined
    this.#isWatched = isWatched
  }

  /** The header that proves a request; throws {@link NodeGone} where nobody or another program answers. */
  async authorize(method: string, path: string, digest = EMPTY): Promise<{ Authorization: string }> {
    const challenge = await this.#opened()
    requireNoWorker()
    const { pathname, search } = new URL(path, location.href)
    const { session, key } = this.#session
    this.#counter += 1
    const request = { challenge, counter: this.#counter, method, target: pathname + search, digest }
    return { Authorization: pageAuthorization(key, session, request) }
  }

  /** Asks the node; where it has forgotten the page, a question is asked once more. */
  async fetch(path: string, { method = 'GET', body, signal }: Request): Promise<Response> {
    const answer = await this.#once(path, { method, body, signal })
    if (answer.status !== 401) return answer
    this.lose()
    // whoever stands between may have passed it on, and says that it was not taken
    if (method !== 'GET') throw gone()
    return this.#once(path, { method, body, signal })
  }

  async #once(path: string, { method, body, signal }: Required<Request>): Promise<Response> {
    const digest = body === undefined ? EMPTY : sha256Hex(utf8(body))
    const headers = await this.authorize(method, path, digest)
    const type = body === undefined ? undefined : 'application/json'
    const given = { method, headers: { ...headers, ...present({ 'Content-Type': type }) } }
    return this.send(path, { ...given, ...present({ body, signal }) })
  }

  /** Sends what {@link authorize} has proven; throws {@link NodeGone} where no answer came. */
  async send(path: string, given: RequestInit): Promise<Response> {
    try {
      return await plain(path, given)
    } catch (error) {
      this.lose()
      if (given.signal?.aborted === true) throw error
      throw gone()
    }
  }

  async #opened(): Promise<string> {
    if (this.#challenge !== undefined) return this.#challenge
    this.#opening ??= this.#open().finally(() => {
      this.#opening = undefined
    })
    return this.#opening
  }

  async #open(): Promise<string> {
    requireNoWorker()
    const { session, key } = this.#session
    const turns = this.#turns
    const asked = newAsked()
    const body = JSON.stringify({ session, nonce: asked.nonce, proof: pageProof(key, asked) })
    const answer = await post('/console/open', body)
    if (answer.status === 401)
      throw new NodeRefused('unauthorized', 'this page is no longer let in; open it anew', 'svc console')
    const { challenge, proof } = answer.said as { challenge?: unknown; proof?: unknown }
    if (typeof challenge !== 'string' || !sameHex(nodeProof(key, asked, challenge), String(proof)))
      throw new NodeGone(`another program answers at ${location.host}, not the node`, 'svc up')
    // who proved himself before a stream was opened or lost may be gone
    if (this.#turns !== turns) return this.#open()
    if (this.#isWatched) this.#challenge = challenge
    return challenge
  }
}

type Request = { method?: string; body?: string | undefined; signal?: AbortSignal | undefined }

/** Sends what tells nobody anything. */
export async function post(path: string, body: string): Promise<{ status: number; said: object }> {
  try {
    const headers = { 'Content-Type': 'application/json' }
    const signal = AbortSignal.timeout(OPENING_MS)
    const answer = await plain(path, { method: 'POST', headers, body, signal })
    return { status: answer.status, said: ((await answer.json()) as object | null) ?? {} }
  } catch {
    throw gone()
  }
}

/** Longer than a node takes for any answer; whoever took a request and keeps it holds nothing up. */
const OPENING_MS = 10_000

/**
 * A worker of another program, planted while it held the port, would see everything that passes. A node registers none,
 * so a page under one asks nothing any more.
 */
function requireNoWorker(): void {
  const { serviceWorker } = globalThis.navigator ?? {}
  if (serviceWorker?.controller != null)
    throw new NodeRefused(
      'unauthorized',
      'another program has put a worker between this page and its node; close every tab of this address',
      'svc console',
    )
}

const plain = (path: string, given: RequestInit): Promise<Response> =>
  fetch(path, { ...given, credentials: 'omit', cache: 'no-store', redirect: 'error' })
