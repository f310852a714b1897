/** Answers of the A2A interface over HTTP: JSON, refusals of either binding, and event streams. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Timers } from '../../protocol/timers.ts'
import { A2aRefused } from './errors.ts'
import type { StreamItem } from './shapes.ts'
import type { Sink } from './streams.ts'
import { headerNames, headerOf, type PaymentNeeded } from './x402.ts'

const A2A_JSON = 'application/a2a+json'
const HEARTBEAT_MS = 15_000
const BACKLOG_BYTES_MAX = 1024 * 1024

/** The type that a client asks for; older ones know `application/json` alone. */
export const mediaTypeFor = ({ headers }: IncomingMessage): string =>
  (headers.accept ?? '').toLowerCase().includes(A2A_JSON) ? A2A_JSON : 'application/json'

export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  type = 'application/json',
): void {
  if (response.headersSent || response.destroyed) return
  const text = JSON.stringify(body)
  response.writeHead(status, { 'Content-Type': type, 'Content-Length': Buffer.byteLength(text) }).end(text)
}

/** A refusal as `google.rpc.Status` (§11.6). */
export const statusBody = (refused: A2aRefused) => ({
  error: {
    code: refused.row.http,
    status: refused.row.status,
    message: refused.message,
    details: refused.details(),
  },
})

/** A refusal as JSON-RPC writes it (§9.5). */
export const rpcError = (id: string | number | null, refused: A2aRefused) => ({
  jsonrpc: '2.0',
  id,
  error: { code: refused.row.rpc, message: refused.message, data: refused.details() },
})

/** A call that is not paid for, for clients that know no x402. */
export const unpaid = ({ message }: PaymentNeeded): A2aRefused =>
  new A2aRefused('UnsupportedOperation', `${message}; pay by x402, or activate its extension`)

/** Asks for payment by the headers of x402. */
export function askForPayment(
  response: ServerResponse,
  { required, settled }: PaymentNeeded,
  body: object,
  type?: string,
): void {
  if (response.headersSent) return
  response.setHeader(headerNames.required, headerOf(required))
  if (settled !== undefined) response.setHeader(headerNames.response, headerOf(settled))
  sendJson(response, 402, body, type)
}

/** A stream that is refused from some moment on: `end` with what it then says last. */
export type RefusableSink = Sink & { refuse(body: object): void }

/** Opens a stream of events; a reader that does not keep up is cut off, and goes on after the last id that it has. */
export function openStream(
  response: ServerResponse,
  timers: Timers,
  wrap: (item: StreamItem) => object,
): RefusableSink {
  response.writeHead(200, { 'Content-Type': 'text/event-stream', Connection: 'keep-alive' })
  response.flushHeaders()
  const heartbeat = timers.every(HEARTBEAT_MS, () => response.write(': alive\n\n'))
  response.on('close', () => timers.clear(heartbeat))
  const end = (): void => {
    timers.clear(heartbeat)
    response.end()
  }
  return {
    write(item, id) {
      if (response.destroyed) return false
      if (response.writableLength > BACKLOG_BYTES_MAX) {
        response.destroy()
        return false
      }
      response.write(`id: ${id}\ndata: ${JSON.stringify(wrap(item))}\n\n`)
      return true
    },
    end,
    refuse(body) {
      response.write(`data: ${JSON.stringify(body)}\n\n`)
      end()
    },
  }
}
