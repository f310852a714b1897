/**
 * Sends one letter or envelope to an address that its recipient published. The attacker names an address so that this node calls what
 * stands behind it, or waits and reads for ever: hosts of the public network and listed ones are called, at what their name
 * resolved to, nothing is followed, and the answer is short and in time or none.
 */
import * as http from 'node:http'
import type { Logger } from 'pino'
import { callBody } from '../../protocol/contract/client.ts'
import { directEnvelope, directSend } from '../../protocol/contract/direct.ts'
import type { RequestOf } from '../../protocol/contract/route.ts'
import { concat, fromBase64, Malformed } from '../../protocol/encoding/bytes.ts'
import { Failure, wordsOf } from '../../protocol/encoding/errors.ts'
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

/** Whatever went wrong, the hub is still there; a mistake of ours is said as one. No log tells which way a message went. */
export function sayNotDelivered(log: Logger, { peer }: { peer: string }, error: unknown): void {
  const isMistake = error instanceof TypeError || error instanceof RangeError
  const said = { peer, ...(isMistake ? { err: error } : { reason: wordsOf(error) }) }
  log[isMistake ? 'error' : 'info'](said, 'an address took nothing; what was to go there goes by the hub')
}

/** Where something goes, and what it may take. */
export type DirectTarget = {
  /** Host and port. */
  address: string
  /** Hosts that the owner listed, which may be of any network. */
  hosts: readonly string[]
  timers: Timers
  signal: AbortSignal
}
export type DirectCall = DirectTarget & { letter: RequestOf<typeof directSend> }
export type EnvelopeCall = DirectTarget & { envelope: Uint8Array }

/** The confirmation of a letter, as somebody at that address gave it; throws {@link NotDelivered}. */
export async function callDirectly({ letter, ...target }: DirectCall): Promise<Uint8Array> {
  const bytes = await posted(target, {
    path: directSend.path,
    type: 'application/json',
    body: callBody(directSend, letter),
  })
  return confirmationIn(bytes, directSend.reply)
}

/** The confirmation of a sealed envelope, as somebody at that address gave it; throws {@link NotDelivered}. */
export async function callWithEnvelope({ envelope, ...target }: EnvelopeCall): Promise<Uint8Array> {
  const { path, raw } = directEnvelope
  const bytes = await posted(target, { path, type: raw, body: envelope })
  return confirmationIn(bytes, directEnvelope.reply)
}

type Posted = { path: string; type: string; body: Uint8Array }

/** The body of an answer that says that it was taken. */
async function posted(
  { address, hosts, timers, signal }: DirectTarget,
  { path, type, body }: Posted,
): Promise<Uint8Array> {
  const url = targetAt(address, path, hosts)
  const late = timers.deadline(Math.ceil(CONNECT_MS + ANSWER_MS + body.length / BYTES_PER_MS))
  const options: http.RequestOptions = {
    method: 'POST',
    agent: false,
    headers: { 'Content-Type': type, 'Content-Length': String(body.length) },
    signal: AbortSignal.any([signal, late]),
    ...(!isListedHost(url, hosts) && { lookup: publicOnly(notPublic) }),
  }
  const { status, bytes } = await exchanged(http.request(url, options), body, timers)
  if (status !== 200) throw new NotDelivered(`it answers ${status}`)
  return bytes
}

const notPublic = () => new NotDelivered('its host is not of the public network')

function targetAt(address: string, path: string, hosts: readonly string[]): URL {
  const text = `http://${address}${path}`
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
    let isAnswered = false
    request.once('close', () => {
      timers.clear(patience)
      if (!isAnswered) reject(new NotDelivered('it left without an answer'))
    })
    request.once('error', reject)
    // a connection that changes its protocol is out of reach of the signal
    request.once('upgrade', (_, socket) => {
      socket.destroy()
      reject(new NotDelivered('it answers with another protocol'))
    })
    request.once('response', response => {
      isAnswered = true
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

type Confirming = typeof directSend.reply | typeof directEnvelope.reply

function confirmationIn(bytes: Uint8Array, reply: Confirming): Uint8Array {
  try {
    const { success, data } = reply.safeParse(parseJson(bytes))
    if (success) return fromBase64(data.confirmation)
  } catch (error) {
    if (!(error instanceof Malformed)) throw error
  }
  throw new NotDelivered('its answer is none of an agent')
}
