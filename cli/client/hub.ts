/** Calls to a hub from the command line: no connection is kept, none outlives the command. */

import * as http from 'node:http'
import * as https from 'node:https'
import type { Send } from '../../protocol/contract/client.ts'
import { proxiesIn } from '../../protocol/contract/proxies.ts'
import { Failure } from '../../protocol/encoding/errors.ts'
import { present } from '../../protocol/encoding/present.ts'
import type { Io } from '../io.ts'
import { sayWhileWaiting } from '../waiting.ts'

/** A key history, the longest that is asked for, is a small part of it. */
const ANSWER_BYTES_MAX = 16 * 1024 * 1024

class BadAnswer extends Failure {
  override name = 'BadAnswer'
}

/** A `send` for the typed client; the whole answer must be there within `timeoutMs`. */
export function hubSend(io: Io, timeoutMs: number): Send {
  return request =>
    new Promise<Response>((resolve, reject) => {
      const { method, headers, signal } = request
      const { protocol, origin } = new URL(request.url)
      const module = protocol === 'https:' ? https : http
      const proxyEnv = proxiesIn(io.env)
      const agent = proxyEnv === undefined ? false : new module.Agent({ proxyEnv })
      const options = { method, headers, agent, ...present({ signal }) }
      const outgoing = module.request(request.url, options, incoming => {
        const chunks: Buffer[] = []
        let size = 0
        incoming.on('data', (chunk: Buffer) => {
          size += chunk.length
          if (size > ANSWER_BYTES_MAX) outgoing.destroy(new BadAnswer(`the answer of ${origin} is too large`))
          else chunks.push(chunk)
        })
        incoming.on('error', reject)
        incoming.on('end', () => {
          const received = {
            status: incoming.statusCode ?? 500,
            headers: incoming.headers as Record<string, string>,
          }
          resolve(new Response(Buffer.concat(chunks), received))
        })
      })
      const answered = sayWhileWaiting(io, origin)
      const silent = new BadAnswer(`${origin} did not answer within ${timeoutMs / 1000} s`)
      const limit = setTimeout(() => outgoing.destroy(silent), timeoutMs)
      outgoing.on('close', () => {
        answered()
        clearTimeout(limit)
      })
      outgoing.on('error', reject)
      outgoing.end(request.body)
    })
}
