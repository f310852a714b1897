/** The way from one hub to another, on which requests and answers are lost, kept, repeated, altered or made up. */
import * as http from 'node:http'
import type { AddressInfo } from 'node:net'

export type Asked = { method: string; path: string; headers: http.IncomingHttpHeaders; body: Buffer }
export type Answer = { status: number; headers: http.OutgoingHttpHeaders; body: Buffer }
/** What comes of a request; undefined is no answer at all. */
export type Fault = {
  (asked: Asked, pass: () => Promise<Answer | undefined>): Promise<Answer | undefined>
  /** Whoever asks waits until time has passed. */
  isKeeping?: true
}

export class PeerLine {
  readonly #server: http.Server
  /** Where the hub at its end listens; undefined while it is down. */
  target: string | undefined
  fault: Fault | undefined
  /** Requests whose asker still waits. */
  waiting = 0
  /** Paths that were asked for. */
  readonly asked: string[] = []

  constructor() {
    this.#server = http.createServer((request, response) => void this.#take(request, response))
    this.#server.unref()
    // no call meets a connection that is just being closed
    this.#server.keepAliveTimeout = 0
  }

  async open(): Promise<void> {
    await new Promise<void>(done => this.#server.listen(0, '127.0.0.1', done))
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** As at the start of a world. */
  renew(): void {
    this.#server.closeAllConnections()
    this.target = undefined
    this.fault = undefined
    this.waiting = 0
    this.asked.length = 0
  }

  async #take(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    this.waiting += 1
    response.once('close', () => {
      this.waiting = Math.max(0, this.waiting - 1)
    })
    const asked = await readAsked(request).catch(() => undefined)
    if (asked === undefined) return void response.destroy()
    this.asked.push(asked.path)
    const pass = () => passOn(asked, this.target)
    const answer = await (this.fault === undefined ? pass() : this.fault(asked, pass)).catch(() => undefined)
    if (answer === undefined || response.destroyed) return void response.destroy()
    response.writeHead(answer.status, answer.headers).end(answer.body)
  }
}

async function readAsked(request: http.IncomingMessage): Promise<Asked> {
  const { method = 'GET', url = '/', headers } = request
  return { method, path: url, headers, body: await bytesOf(request) }
}

async function bytesOf(stream: http.IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const piece of stream) pieces.push(piece as Buffer)
  return Buffer.concat(pieces)
}

function passOn({ method, path, headers, body }: Asked, target: string | undefined) {
  return new Promise<Answer | undefined>(resolve => {
    if (target === undefined) return resolve(undefined)
    const onward = http.request(new URL(path, target), { method, headers, agent: false }, reply => {
      bytesOf(reply).then(
        bytes => resolve({ status: reply.statusCode ?? 502, headers: reply.headers, body: bytes }),
        () => resolve(undefined),
      )
    })
    onward.on('error', () => resolve(undefined))
    onward.end(body)
  })
}

export const json = (value: unknown): Answer => ({
  status: 200,
  headers: { 'Content-Type': 'application/json' },
  body: Buffer.from(JSON.stringify(value)),
})

/** Requests do not arrive. */
export const requestsLost: Fault = async () => undefined
/** Requests are carried out, and nobody hears of it. */
export const answersLost: Fault = async (_, pass) => {
  await pass()
  return undefined
}
/** Each request arrives twice. */
export const twice: Fault = async (_, pass) => {
  const answer = await pass()
  await pass()
  return answer
}

/** The next request to this path alone; everything else goes through. */
export function once(line: PeerLine, path: string, fault: Fault): Fault {
  return async (asked, pass) => {
    if (asked.path !== path) return await pass()
    line.fault = undefined
    return await fault(asked, pass)
  }
}

/** Requests, or their answers, are kept until they are let go; who asked may have given up by then. */
export function kept(what: 'requests' | 'answers'): { fault: Fault; letGo: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>()
  const fault: Fault = async (_, pass) => {
    if (what === 'requests') await promise
    const answer = await pass()
    if (what === 'answers') await promise
    return answer
  }
  return { fault: Object.assign(fault, { isKeeping: true as const }), letGo: resolve }
}
