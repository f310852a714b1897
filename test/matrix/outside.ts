/** What stands outside of both nodes: a model server that thinks until it is told to answer, and whoever is told by A2A. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

export const SAID_BY_MODEL = 'said by a model'
const ANSWER = JSON.stringify({ choices: [{ message: { role: 'assistant', content: SAID_BY_MODEL } }] })

export class Outside implements AsyncDisposable {
  readonly #server: Server
  #thinking: ServerResponse[] = []
  /** Events that were told, as they came. */
  readonly told: string[] = []
  /** Whether nobody takes what is told. */
  refuses = true
  asked = 0

  private constructor() {
    this.#server = createServer((request, response) => void this.#take(request, response))
  }

  static async open(): Promise<Outside> {
    const outside = new Outside()
    await new Promise<void>(done => outside.#server.listen(0, '127.0.0.1', done))
    return outside
  }

  get host(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request).catch(() => '')
    if (request.url === '/told') {
      if (this.refuses) return void response.writeHead(503).end()
      this.told.push(body)
      return void response.writeHead(200).end()
    }
    this.asked += 1
    this.#thinking.push(response)
  }

  /** The model answers everything that it was asked. */
  answer(): void {
    for (const response of this.#thinking.splice(0))
      response.writeHead(200, { 'Content-Type': 'application/json' }).end(ANSWER)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise(done => this.#server.close(done))
  }
}
