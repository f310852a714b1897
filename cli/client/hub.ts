/** Calls to a hub from the command line: no connection is kept, none outlives the command. */

import * as http from 'node:http'
import * as https from 'node:https'
import type { Send } from '../../protocol/contract/client.ts'
import { present } from '../../protocol/encoding/present.ts'

/** A `send` for the typed client; an answer must come within `timeoutMs`. */
export function hubSend(timeoutMs: number): Send {
  return request =>
    new Promise((resolve, reject) => {
      const { method, headers, signal } = request
      const options = {
        method,
        headers,
        agent: false as const,
        timeout: timeoutMs,
        ...present({ signal }),
      }
      const module = request.url.startsWith('https:') ? https : http
      const outgoing = module.request(request.url, options, incoming => {
        const chunks: Buffer[] = []
        incoming.on('data', chunk => chunks.push(chunk as Buffer))
        incoming.on('error', reject)
        incoming.on('end', () => {
          const received = {
            status: incoming.statusCode ?? 500,
            headers: incoming.headers as Record<string, string>,
          }
          resolve(new Response(Buffer.concat(chunks), received))
        })
      })
      outgoing.on('timeout', () => outgoing.destroy(new Error(`no answer within ${timeoutMs / 1000} s`)))
      outgoing.on('error', reject)
      outgoing.end(request.body)
    })
}
