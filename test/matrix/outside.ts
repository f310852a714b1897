/** What stands outside of both nodes: a model server that thinks until it is told to answer, and whoever is told by A2A. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

export const SAID_BY_MODEL = 'said by a model'
const ANSWER = JSON.stringify({ choices: [{ message: { role: 'assistant', content: SAID_BY_MODEL } }] })

/** One server for all worlds of a process, which live after each other and remember its address. */
const server = createServer((request, response) => {
  if (present === undefined) response.writeHead(503).end()
  else void present.take(request, response)
}).unref()
let present: Outside | undefined

export class Outside implements Disposable {
  #thinking: ServerResponse[] = []
  /** Events that were told, as they came. */
  readonly told: string[] = []
  /** Whether nobody takes what is told. */
  refuses = true
  asked = 0

  static async open(): Promise<Outside> {
    if (!server.listening) await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
    present = new Outside()
    return present
  }

  get host(): string {
    return `127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  async take(request: IncomingMessage, response: ServerResponse): Promise<void> {
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

  [Symbol.dispose](): void {
    present = undefined
    server.closeAllConnections()
  }
}
