/** A hub seen through a proxy that may answer in its place, for tests. */
import * as http from 'node:http'
import type { AddressInfo } from 'node:net'

export type Answer = { status: number; headers?: Record<string, string>; body: object }
/** What the proxy answers itself; undefined passes the request on. */
export type Intercept = (route: string) => Answer | undefined

export type InterceptedHub = AsyncDisposable & { url: string }

/** Stands before a hub and hands everything on, but what `intercept` answers. */
export async function interceptHub(to: () => string, intercept: Intercept): Promise<InterceptedHub> {
  const server = http.createServer((request, response) => {
    const answer = intercept(`${request.method} ${request.url}`)
    if (answer !== undefined) {
      request.resume()
      const headers = { 'X-Svc-Wire': '3', 'Content-Type': 'application/json', ...answer.headers }
      response.writeHead(answer.status, headers).end(JSON.stringify(answer.body))
      return
    }
    const target = new URL(request.url ?? '/', to())
    const onward = http.request(target, { method: request.method, headers: request.headers }, reply => {
      response.writeHead(reply.statusCode ?? 502, reply.headers)
      reply.pipe(response)
    })
    onward.on('error', () => response.destroy())
    response.on('close', () => onward.destroy())
    request.pipe(onward)
  })
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise<void>(done => server.close(() => done()))
    },
  }
}
