/**
 * The node as this page knows it. Page and node prove themselves to each other once; then both seal every call with the
 * key of the page, so that whoever takes the port of a stopped node, or holds a connection of the browser, reads nothing
 * and changes nothing.
 */
import {
  type Asked,
  callKeys,
  NONCE_BYTES,
  type NodeOpening,
  nodeProof,
  pageProof,
  sameHex,
} from '../../protocol/control/page-key.ts'
import { toHex } from '../../protocol/encoding/bytes.ts'
import { NodeGone, NodeRefused } from '../../view/node-client.ts'
import { gone, plainFetch } from './plain-fetch.ts'
import { type Call, NotOpen, sealedCall } from './sealed-call.ts'

export type Session = { session: string; key: Uint8Array }
/** An opening, and how far the clock of the node is ahead of that of this page. */
type Opened = Pick<NodeOpening, 'challenge'> & { ahead: number }
type Wanted = Partial<Omit<Call, 'target'>>

/** Longer than a node takes to prove itself; whoever took the question and keeps it holds nothing up. */
const OPENING_MS = 10_000
/** The node says so of a call that came too late: it was not carried out. */
const LATE = 408

const unsure = () =>
  new NodeGone('the node did not say whether it took this; look before you do it again', 'svc status')

export const newAsked = (): Asked => ({
  host: location.host.toLowerCase(),
  nonce: toHex(crypto.getRandomValues(new Uint8Array(NONCE_BYTES))),
})

export class Peer {
  readonly #session: Session
  #opened: Promise<Opened> | undefined
  #counter = 0

  constructor(session: Session) {
    this.#session = session
  }

  /** The node may have gone: whoever answers next proves itself anew. */
  lose(): void {
    this.#opened = undefined
  }

  /**
   * Makes a call. A node that forgot the page is asked a question once more, and one that says that a call came too late
   * is given it once more. Throws {@link NodeGone} where nobody or another program answers.
   */
  async fetch(path: string, wanted: Wanted = {}): Promise<Response> {
    const call = { method: 'GET', ...wanted, target: targetOf(path) }
    const answer = await this.#try(call)
    if (answer instanceof Response && answer.status !== LATE) return answer
    this.lose()
    // whoever stands between may have passed it on, and says that nobody knows the page
    if (answer === 'not open' && call.method !== 'GET') throw unsure()
    const again = await this.#try(call)
    if (again instanceof Response) return again
    this.lose()
    throw gone()
  }

  async #try(call: Call): Promise<Response | 'not open'> {
    const { session, key } = this.#session
    const { challenge, ahead } = await this.#open()
    const counter = ++this.#counter
    const keys = callKeys(key, { host: location.host.toLowerCase(), challenge, counter })
    try {
      return await sealedCall({ session, counter, keys, at: performance.now() + ahead }, call)
    } catch (error) {
      if (error instanceof NotOpen) return 'not open'
      this.lose()
      if (call.signal?.aborted === true || error instanceof NodeRefused) throw error
      throw gone()
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
    const { session, key } = this.#session
    const asked = newAsked()
    const body = JSON.stringify({ session, nonce: asked.nonce, proof: pageProof(key, asked) })
    const answer = await post('/console/open', body)
    if (answer.status === 401)
      throw new NodeRefused('unauthorized', 'this page is no longer let in; open it anew', 'svc console')
    const { challenge, now, proof } = answer.said as { [member: string]: unknown }
    const opening = { challenge: String(challenge), now: Number(now) }
    if (!sameHex(nodeProof(key, asked, opening), String(proof)))
      throw new NodeGone(`another program answers at ${location.host}, not the node`, 'svc up')
    return { challenge: opening.challenge, ahead: opening.now - performance.now() }
  }
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
    return { status: answer.status, said: ((await answer.json()) as object | null) ?? {} }
  } catch (error) {
    if (error instanceof NodeRefused) throw error
    throw gone()
  }
}
