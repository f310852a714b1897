/** A page of the console without a browser: it trades tickets, opens its session and seals its calls. */
import { randomBytes } from 'node:crypto'
import * as http from 'node:http'
import { FrameOpener, FrameSealer } from '../../protocol/control/page-frames.ts'
import {
  type Asked,
  callKeys,
  keyFrom,
  maskedKey,
  NONCE_BYTES,
  type NodeOpening,
  type NodeTime,
  nodeProof,
  pageProof,
  sameHex,
  ticketName,
  ticketProof,
} from '../../protocol/control/page-key.ts'
import { concat, fromUtf8, utf8 } from '../../protocol/encoding/bytes.ts'

export type Answer = { status: number; headers: http.IncomingHttpHeaders; bytes: Uint8Array; text: string }
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
      const parts: Buffer[] = []
      response.on('data', part => parts.push(part))
      response.on('end', () => {
        const bytes = Buffer.concat(parts)
        const { statusCode: status = 0, headers } = response
        resolve({ status, headers, bytes, text: bytes.toString() })
      })
    })
    request.on('error', reject)
    request.end(body)
  })
}
type Sent = { headers?: http.OutgoingHttpHeaders; body?: string | Uint8Array; method?: string; at?: string }

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

const timeOf = ({ now, up }: NodeOpening): NodeTime => ({ now, up })

export class OpenPage {
  readonly #host: string
  readonly #session: Session
  readonly #opening: NodeOpening
  #counter = 0

  private constructor(host: string, session: Session, opening: NodeOpening) {
    this.#host = host
    this.#session = session
    this.#opening = opening
  }

  /** Opens a session; throws where the node is not proven. */
  static async open(host: string, session: Session): Promise<OpenPage> {
    const asked = askedOf(host)
    const proof = pageProof(session.key, asked)
    const body = JSON.stringify({ session: session.session, nonce: asked.nonce, proof })
    const { status, text } = await send(host, '/console/open', { body })
    const { proof: given, ...opening } = JSON.parse(text) as NodeOpening & { proof: string }
    if (status !== 200 || !sameHex(nodeProof(session.key, asked, opening), given))
      throw new Error(`not opened: ${status} ${text}`)
    return new OpenPage(host, session, opening)
  }

  /** One call as it leaves the page: path and sealed body, and the key that opens its answer. */
  call(target: string, body?: string, { at = timeOf(this.#opening), counter = ++this.#counter } = {}) {
    const { challenge } = this.#opening
    const keys = callKeys(this.#session.key, { host: this.#host, challenge, counter })
    const sealer = new FrameSealer(keys.page)
    const method = body === undefined ? 'GET' : 'POST'
    const frames = [sealer.seal('head', utf8(JSON.stringify({ method, target, at })))]
    if (body !== undefined) frames.push(sealer.seal('part', utf8(body)))
    frames.push(sealer.seal('end'))
    const path = `/console/call?session=${this.#session.session}&call=${counter}&frame=0`
    return { path, body: concat(...frames), keys, sealer }
  }

  /** Gives a call to the node, as it is or as somebody changed it. */
  async give({ path, body, keys }: Omit<ReturnType<OpenPage['call']>, 'sealer'>): Promise<Answer> {
    const answer = await send(this.#host, path, { body })
    return answer.status === 200 ? { ...answer, ...openedWith(keys.node, answer.bytes) } : answer
  }

  ask(target: string, body?: string): Promise<Answer> {
    return this.give(this.call(target, body))
  }
}

function openedWith(key: Uint8Array, bytes: Uint8Array): { status: number; text: string } {
  const frames = [...new FrameOpener(key).open(bytes)]
  const [head, ...rest] = frames.filter(({ kind }) => kind !== 'alive')
  if (head?.kind !== 'head' || rest.at(-1)?.kind !== 'end') throw new Error('the answer is not whole')
  const { status } = JSON.parse(fromUtf8(head.content)) as { status: number }
  return { status, text: fromUtf8(concat(...rest.map(({ content }) => content))) }
}
