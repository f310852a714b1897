/**
 * The node as this page knows it. Page and node prove themselves to each other once; then both seal every call with the
 * key of the page, so that whoever takes the port of a stopped node, or holds a connection of the browser, reads nothing
 * and changes nothing.
 */
import {
  type Asked,
  callKeys,
  keyFrom,
  maskedTabs,
  NONCE_BYTES,
  type NodeOpening,
  type NodeTime,
  nodeProof,
  pageProof,
  sameHex,
  TOO_LATE,
} from '../../protocol/control/page-key.ts'
import { toHex } from '../../protocol/encoding/bytes.ts'
import { NodeGone, NodeRefused, NotTheNode } from '../../view/node-client.ts'
import { gone, plainFetch } from './plain-fetch.ts'
import { type Call, NotOpen, sealedCall } from './sealed-call.ts'

export type Session = { session: string; key: Uint8Array }
type Opened = { challenge: string; time(): NodeTime }
export type Tabs = { key: Uint8Array; now(): number }
/** `isOrder`: it changes something, so that it is not given twice by itself. */
type Wanted = Partial<Omit<Call, 'target'>> & { isOrder?: boolean }

/** Longer than a node takes to prove itself; whoever took the question and keeps it holds nothing up. */
const OPENING_MS = 10_000
const OPENING_CHARACTERS_MAX = 4096
/** A browser holds six to one place, and one of them carries the events. */
const CONNECTIONS = 5

const unsure = () =>
  new NodeGone('the node did not say whether it took this; look before you do it again', 'svc status')

export const newAsked = (): Asked => ({
  host: location.host.toLowerCase(),
  nonce: toHex(crypto.getRandomValues(new Uint8Array(NONCE_BYTES))),
})

export class Peer {
  readonly #session: Session
  #opened: Promise<Opened> | undefined
  /** It outlives the node that gave it: tabs tell each other that the node went. */
  #tabs: Tabs | undefined
  #counter = 0

  constructor(session: Session) {
    this.#session = session
  }

  /** The node may have gone: whoever answers next proves itself anew. */
  lose(): void {
    this.#opened = undefined
  }

  /** The key that seals what pages of this host tell each other, and what the node's clock says. */
  async tabs(): Promise<Tabs> {
    if (this.#tabs === undefined) await this.#open()
    return this.#tabs ?? Promise.reject(gone())
  }

  /**
   * Makes a call. A node that forgot the page is asked a question once more, and one that says that a call came too late
   * is given it once more. Throws {@link NodeGone} where nobody or another program answers.
   */
  async fetch(path: string, { isOrder = false, ...wanted }: Wanted = {}): Promise<Response> {
    const call = { method: 'GET', ...wanted, target: targetOf(path) }
    const answer = await this.#try(call, isOrder)
    if (answer instanceof Response && answer.status !== TOO_LATE) return answer
    if (answer instanceof Response) void answer.body?.cancel()
    this.lose()
    // whoever stands between may have passed it on, and says that nobody knows the page
    if (answer === 'not open' && isOrder) throw unsure()
    const again = await this.#try(call, isOrder)
    if (again instanceof Response) return again
    this.lose()
    throw isOrder ? unsure() : gone()
  }

  async #try(call: Call, isOrder: boolean): Promise<Response | 'not open'> {
    const { session, key } = this.#session
    const { challenge, time } = await this.#open()
    const counter = ++this.#counter
    const keys = callKeys(key, { host: location.host.toLowerCase(), challenge, counter })
    try {
      return await sealedCall({ session, counter, keys, time }, call)
    } catch (error) {
      if (error instanceof NotOpen) return 'not open'
      this.lose()
      if (call.signal?.aborted === true || error instanceof NodeRefused) throw error
      throw isOrder ? unsure() : gone()
    }
  }

  async #open(): Promise<Opened> {
    this.#opened ??= this.#prove()
    const opening = this.#opened
    try {
      return await opening
    } catch (error) {
      if (this.#opened === opening) this.lose()
      throw error
    }
  }

  async #prove(): Promise<Opened> {
    try {
      return await this.#ask()
    } catch (error) {
      if (!(error instanceof NotTheNode)) throw error
      // a browser takes a connection again that another program may have kept; of several at once, others are new
      const others = Array.from({ length: CONNECTIONS }, () => this.#ask())
      return await Promise.any(others).catch(() => Promise.reject(error))
    }
  }

  async #ask(): Promise<Opened> {
    const { session, key } = this.#session
    const asked = newAsked()
    const proof = pageProof(key, asked)
    const { status, said } = await post(
      '/console/open',
      JSON.stringify({ session, nonce: asked.nonce, proof }),
    )
    const { proof: given, ...opening } = said as NodeOpening & { proof: unknown }
    if (!isOpening(opening) || !sameHex(nodeProof(key, asked, opening), String(given)))
      throw status === 401
        ? new NotTheNode(`whoever answers at ${location.host} does not know this page`, 'svc console')
        : new NotTheNode(`another program answers at ${location.host}, not the node`, 'svc up')
    const start = performance.now()
    const time = () => {
      const passed = performance.now() - start
      return { now: opening.now + passed, up: opening.up + passed }
    }
    this.#tabs = { key: maskedTabs(key, asked, keyFrom(opening.masked_tabs)), now: () => time().now }
    return { challenge: opening.challenge, time }
  }
}

function isOpening(said: object): said is NodeOpening {
  const { challenge, masked_tabs, now, up } = said as Partial<Record<keyof NodeOpening, unknown>>
  const isText = typeof challenge === 'string' && /^[0-9a-f]{64}$/.test(String(masked_tabs))
  return isText && typeof now === 'number' && typeof up === 'number'
}

function targetOf(path: string): string {
  const { pathname, search } = new URL(path, location.href)
  return pathname + search
}

/** Sends what tells nobody anything. */
export async function post(path: string, body: string): Promise<{ status: number; said: object }> {
  try {
    const headers = { 'Content-Type': 'application/json' }
    const signal = AbortSignal.timeout(OPENING_MS)
    const answer = await plainFetch(path, { method: 'POST', headers, body, signal })
    return { status: answer.status, said: await shortJson(answer) }
  } catch (error) {
    if (error instanceof NodeRefused) throw error
    throw gone()
  }
}

/** The object of a short answer; an empty one where it is something else. */
async function shortJson({ body }: Response): Promise<object> {
  let text = ''
  const decoder = new TextDecoder()
  const reader = body?.getReader()
  for (let read = await reader?.read(); read?.value !== undefined; read = await reader?.read()) {
    text += decoder.decode(read.value, { stream: true })
    if (text.length > OPENING_CHARACTERS_MAX) {
      await reader?.cancel()
      return {}
    }
  }
  try {
    const said: unknown = JSON.parse(text)
    return typeof said === 'object' && said !== null ? said : {}
  } catch {
    return {}
  }
}
