/** The operator's own listener: figures and health for the machines that watch a hub. Never for the public. */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { OneAtATime } from '../../protocol/contract/one-at-a-time.ts'
import { bindServer } from '../bind.ts'
import { AS_NAMED } from '../http/reply.ts'
import type { Listen } from '../places-config.ts'
import { Metrics } from './metrics.ts'

const HEADER_BYTES_MAX = 4 * 1024
const CONNECTIONS_MAX = 64
const REQUEST_MS = 10_000

export type Phase = 'starting' | 'ready' | 'stopping'
export type OperatorListener = {
  url: string
  metrics: Metrics
  phase: Phase
  /** Why a hub that serves takes no writes; undefined while all is well. */
  trouble: () => Promise<string | undefined>
  close(): Promise<void>
}

/** Opens the listener before anything else starts, so that whoever watches sees the start too. */
export async function openOperatorListener(listen: Listen): Promise<OperatorListener> {
  const metrics = new Metrics()
  const oneAtATime = new OneAtATime()
  const server = createServer(
    { maxHeaderSize: HEADER_BYTES_MAX, requestTimeout: REQUEST_MS, headersTimeout: REQUEST_MS },
    (request, response) => {
      if (oneAtATime.admit(request.socket, response)) void answer(request, response)
    },
  )
  server.maxConnections = CONNECTIONS_MAX
  const opened: OperatorListener = {
    url: await bindServer(server, listen),
    metrics,
    phase: 'starting',
    trouble: async () => undefined,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? '/').split('?')[0]
    if (request.method !== 'GET') return send(response, 404, 'not found\n')
    if (path === '/livez') return send(response, 200, 'alive\n')
    if (path === '/readyz') {
      const why = opened.phase === 'ready' ? await opened.trouble() : opened.phase
      return send(response, why === undefined ? 200 : 503, `${why ?? 'ready'}\n`)
    }
    if (path !== '/metrics') return send(response, 404, 'not found; try /metrics, /readyz or /livez\n')
    try {
      send(response, 200, await metrics.text(), metrics.contentType)
    } catch {
      send(response, 503, 'the metrics cannot be read; see /readyz\n')
    }
  }
  return opened
}

function send(response: ServerResponse, status: number, text: string, type = 'text/plain'): void {
  response.writeHead(status, {
    'Content-Type': type,
    'Content-Length': Buffer.byteLength(text),
    'Cache-Control': 'no-store',
    ...AS_NAMED,
  })
  response.end(text)
}
