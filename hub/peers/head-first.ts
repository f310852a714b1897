/** A call whose head goes ahead of its body: the other side says when it wants the rest (RFC 9110 §10.1.1). */
import { type ClientRequest, type IncomingMessage, request as openHttp } from 'node:http'
import { request as openHttps } from 'node:https'
import { pipeline, Readable } from 'node:stream'
import type { Send } from '../../protocol/contract/client.ts'
import type { Timers } from '../../protocol/timers.ts'

/** A proxy that says nothing of it gets the body all the same. */
const UNASKED_MS = 1000
const WITHOUT_BODY: readonly number[] = [204, 205, 304]

/** Calls `judged` once the other side has seen the head and wants the body; throws what {@link fetch} throws. */
export const sendHeadFirst =
  (timers: Timers, judged: () => void): Send =>
  ({ method, url, headers, body, signal }) =>
    new Promise((resolve, reject) => {
      const open = url.startsWith('https:') ? openHttps : openHttp
      const given = { method, headers: { ...headers, Expect: '100-continue' }, agent: false as const }
      const outgoing = open(url, signal === undefined ? given : { ...given, signal })
      const timer = timers.after(UNASKED_MS, give).unref()
      let isGiven = false
      function give(): void {
        timers.clear(timer)
        if (isGiven) return
        isGiven = true
        const pieces = body === undefined || body instanceof Uint8Array ? [body ?? ''] : body
        pipeline(Readable.from(pieces, { objectMode: false }), outgoing, cause => cause && stop(cause))
      }
      function stop(cause: Error): void {
        timers.clear(timer)
        outgoing.destroy(cause)
        reject(signal?.aborted === true ? signal.reason : new TypeError('the call failed', { cause }))
      }
      outgoing.once('continue', () => {
        judged()
        give()
      })
      outgoing.on('error', stop)
      outgoing.once('response', answer => {
        timers.clear(timer)
        resolve(responseOf(answer, outgoing))
      })
      outgoing.flushHeaders()
    })

/** The rest of a body is not sent once its answer is there. */
function responseOf(answer: IncomingMessage, outgoing: ClientRequest): Response {
  const { statusCode: status = 0, rawHeaders } = answer
  const named = new Headers()
  for (let at = 0; at < rawHeaders.length; at += 2)
    named.append(rawHeaders[at] ?? '', rawHeaders[at + 1] ?? '')
  answer.once('close', () => outgoing.destroy())
  const isEmpty = WITHOUT_BODY.includes(status)
  if (isEmpty) answer.resume()
  return new Response(isEmpty ? null : ReadableStream.from(piecesOf(answer)), { status, headers: named })
}

async function* piecesOf(answer: IncomingMessage): AsyncGenerator<Uint8Array> {
  try {
    for await (const piece of answer) yield piece as Uint8Array
  } catch (cause) {
    throw new TypeError('the answer was cut off', { cause })
  }
}
