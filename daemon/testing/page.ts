/** A page of the console without a browser: it trades tickets, opens its session and proves its requests. */
import { randomBytes } from 'node:crypto'
import * as http from 'node:http'
import { sha256Hex } from '#crypto'
import {
  type Asked,
  keyFrom,
  maskedKey,
  NONCE_BYTES,
  nodeProof,
  pageAuthorization,
  pageProof,
  sameHex,
  ticketName,
  ticketProof,
} from '../../protocol/control/page-key.ts'
import { utf8 } from '../../protocol/encoding/bytes.ts'

export type Answer = { status: number; headers: http.IncomingHttpHeaders; text: string }
export type Session = { session: string; key: Uint8Array }

/** One request over a connection of its own; `host` is `name:port`, asked for at 127.0.0.1 unless `at` says where. */
export function send(
  host: string,
  path: string,
  { headers = {}, body, method = body === undefined ? 'GET' : 'POST', at = '127.0.0.1' }: Sent = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const port = Number(host.split(':').at(-1))
    const given = { host: at, port, path, method, headers: { Host: host, ...headers }, agent: false }
    const request = http.request(given, response => {
      let text = ''
      response.on('data', part => {
        text += part
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }))
    })
    request.on('error', reject)
    request.end(body)
  })
}
type Sent = { headers?: http.OutgoingHttpHeaders; body?: string; method?: string; at?: string }

export const askedOf = (host: string): Asked => ({ host, nonce: randomBytes(NONCE_BYTES).toString('hex') })

export const tradeBody = (ticket: string, asked: Asked) =>
  JSON.stringify({ ticket: ticketName(ticket), nonce: asked.nonce, proof: ticketProof(ticket, asked) })

/** The session that a ticket opens, or the answer that refused it. */
export async function trade(host: string, ticket: string): Promise<Session | Answer> {
  const asked = askedOf(host)
  const answer = await send(host, '/console/session', { body: tradeBody(ticket, asked) })
  if (answer.status !== 200) return answer
  const { session, masked_key } = JSON.parse(answer.text) as { session: string; masked_key: string }
  return { session, key: maskedKey(ticket, asked, keyFrom(masked_key)) }
}

export class OpenPage {
  readonly #host: string
  readonly #session: Session
  readonly #challenge: string
  #counter = 0

  private constructor(host: string, session: Session, challenge: string) {
    this.#host = host
    this.#session = session
    this.#challenge = challenge
  }

  /** Opens a session; throws where the node is not proven. */
  static async open(host: string, session: Session): Promise<OpenPage> {
    const asked = askedOf(host)
    const proof = pageProof(session.key, asked)
    const body = JSON.stringify({ session: session.session, nonce: asked.nonce, proof })
    const { status, text } = await send(host, '/console/open', { body })
    const said = JSON.parse(text) as { challenge: string; proof: string }
    if (status !== 200 || !sameHex(nodeProof(session.key, asked, said.challenge), said.proof))
      throw new Error(`not opened: ${status} ${text}`)
    return new OpenPage(host, session, said.challenge)
  }

  /** The header for one request with this body. */
  authorization(method: string, target: string, body = ''): string {
    this.#counter += 1
    const { key, session } = this.#session
    const request = { challenge: this.#challenge, counter: this.#counter, method, target }
    return pageAuthorization(key, session, { ...request, digest: sha256Hex(utf8(body)) })
  }

  ask(target: string, body?: string): Promise<Answer> {
    const method = body === undefined ? 'GET' : 'POST'
    const headers = { Authorization: this.authorization(method, target, body) }
    return send(this.#host, target, { headers, ...(body === undefined ? {} : { body }) })
  }
}
