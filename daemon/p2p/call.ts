/**
 * Sends one letter to an address that its recipient published. The attacker names an address so that this node calls what
 * stands behind it, or waits and reads for ever: hosts of the public network and listed ones are called, at what their name
 * resolved to, nothing is followed, and the answer is short and in time or none.
 */
import * as http from 'node:http'
import { callBody } from '../../protocol/contract/client.ts'
import { directSend } from '../../protocol/contract/direct.ts'
import type { RequestOf } from '../../protocol/contract/route.ts'
import { concat, fromBase64, Malformed } from '../../protocol/encoding/bytes.ts'
import { Failure } from '../../protocol/encoding/errors.ts'
import { parseJson } from '../../protocol/encoding/json.ts'
import type { Timers } from '../../protocol/timers.ts'
import { isListedHost, isPrivateHost, publicOnly } from '../platform/public-address.ts'

const CONNECT_MS = 3_000
/** For an answer, and for each part of the letter: 64 KiB a second. */
const ANSWER_MS = 10_000
const BYTES_PER_MS = 64
const ANSWER_BYTES_MAX = 4096

/** Why a letter was not taken at an address. */
export class NotDelivered extends Failure {
  override name = 'NotDelivered'
}

export type DirectCall = {
  /** Host and port. */
  address: string
  letter: RequestOf<typeof directSend>
  /** Hosts that the owner listed, which may be of any network. */
  hosts: readonly string[]
  timers: Timers
  signal: AbortSignal
}

/** The confirmation, as somebody at that address gave it; throws {@link NotDelivered}. */
export async function callDirectly({
  address,
  letter,
  hosts,
  timers,
  signal,
}: DirectCall): Promise<Uint8Array> {
  const url = targetAt(address, hosts)
  const body = callBody(directSend, letter)
  const late = timers.deadline(Math.ceil(CONNECT_MS + ANSWER_MS + body.length / BYTES_PER_MS))
  const options: http.RequestOptions = {
    method: directSend.method,
    agent: false,
    headers: { 'Content-Type': 'application/json', 'Content-Length': String(body.length) },
    signal: AbortSignal.any([signal, late]),
    ...(!isListedHost(url, hosts) && { lookup: publicOnly(notPublic) }),
  }
  const { status, bytes } = await exchanged(http.request(url, options), body, timers)
  if (status !== 200) throw new NotDelivered(`it answers ${status}`)
  return confirmationIn(bytes)
}

const notPublic = () => new NotDelivered('its host is not of the public network')

function targetAt(address: string, hosts: readonly string[]): URL {
  const text = `http://${address}${directSend.path}`
  if (!URL.canParse(text)) throw new NotDelivered('its address is none')
  const url = new URL(text)
  if (isPrivateHost(url) && !isListedHost(url, hosts)) throw notPublic()
  return url
}

type Answer = { status: number; bytes: Uint8Array }

function exchanged(request: http.ClientRequest, body: Uint8Array, timers: Timers): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const patience = timers.after(CONNECT_MS, () => request.destroy(new NotDelivered('it is not reached')))
    request.once('socket', socket => socket.once('connect', () => timers.clear(patience)))
    request.once('close', () => timers.clear(patience))
    request.once('error', reject)
    request.once('response', response => {
      answerOf(response).then(resolve, reject)
    })
    request.end(body)
  })
}

async function answerOf(response: http.IncomingMessage): Promise<Answer> {
  const parts: Uint8Array[] = []
  let length = 0
  try {
    for await (const part of response as AsyncIterable<Uint8Array>) {
      length += part.length
      if (length > ANSWER_BYTES_MAX) throw new NotDelivered('its answer is too long')
      parts.push(part)
    }
  } finally {
    response.destroy()
  }
  return { status: response.statusCode ?? 0, bytes: concat(...parts) }
}

function confirmationIn(bytes: Uint8Array): Uint8Array {
  try {
    const { success, data } = directSend.reply.safeParse(parseJson(bytes))
    if (success) return fromBase64(data.confirmation)
  } catch (error) {
    if (!(error instanceof Malformed)) throw error
  }
  throw new NotDelivered('its answer is none of an agent')
}
