/** The way from a node to a hub, on which requests or answers of chosen routes are lost. */
import * as http from 'node:http'
import type { AddressInfo } from 'node:net'

export type Loss = 'request' | 'answer'

export class LossyLine {
  readonly #server: http.Server
  readonly #losses = new Map<string, Loss>()
  readonly #lost = new Map<string, number>()
  #hub: string

  constructor(given: string) {
    this.#hub = given
    this.#server = http.createServer((request, response) => {
      const hub = this.#hub
      const route = new URL(request.url ?? '/', hub).pathname
      const loss = this.#losses.get(route)
      if (loss === 'request') return this.#lose(route, response)
      const { method, headers } = request
      const onward = http.request(new URL(request.url ?? '/', hub), { method, headers }, reply => {
        if (this.#losses.has(route)) return this.#lose(route, response, reply)
        response.writeHead(reply.statusCode ?? 502, reply.headers)
        reply.pipe(response)
      })
      onward.on('error', () => response.destroy())
      response.on('close', () => onward.destroy())
      request.pipe(onward)
    })
  }

  async open(): Promise<void> {
    await new Promise<void>(done => this.#server.listen(0, '127.0.0.1', done))
  }

  /** Leads to another process of the hub from here on. */
  leadTo(hub: string): void {
    this.#hub = hub
    this.#server.closeAllConnections()
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  #lose(route: string, response: http.ServerResponse, reply?: http.IncomingMessage): void {
    this.#lost.set(route, this.lostOf(route) + 1)
    reply?.resume()
    response.destroy()
  }

  /** From now on; what is under way on any route is cut off. */
  lose(route: string, what: Loss): void {
    this.#losses.set(route, what)
    this.#server.closeAllConnections()
  }

  lostOf(route: string): number {
    return this.#lost.get(route) ?? 0
  }

  /** Nothing is lost any more, or nothing of one route. */
  heal(route?: string): void {
    if (route === undefined) this.#losses.clear()
    else this.#losses.delete(route)
  }

  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }
}
