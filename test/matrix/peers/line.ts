/** The way from one hub to another, on which requests and answers are lost, kept, repeated, altered or made up. */
import * as http from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Answer, type Asked, answerOf, endWith, headOf, readAsked } from './exchange.ts'
import { HeadAhead } from './head-ahead.ts'

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
  /** Bodies that are on their way after their heads, and stay there. */
  travelling = 0
  /** Paths that were asked for. */
  readonly asked: string[] = []
  #letGo: PromiseWithResolvers<void> | undefined

  constructor() {
    this.#server = http.createServer((request, response) => void this.#take(request, response))
    this.#server.on('checkContinue', (request, response) => void this.#takeHead(request, response))
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
    this.letBodiesGo()
  }

  /** Heads that go ahead of their bodies go on; the bodies stay on their way. */
  keepBodies(): void {
    this.#letGo ??= Promise.withResolvers()
  }

  letBodiesGo(): void {
    this.travelling = 0
    this.#letGo?.resolve()
    this.#letGo = undefined
  }

  #count(response: http.ServerResponse): void {
    this.waiting += 1
    response.once('close', () => {
      this.waiting = Math.max(0, this.waiting - 1)
    })
  }

  async #take(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    this.#count(response)
    const asked = await readAsked(request).catch(() => undefined)
    if (asked === undefined) return void response.destroy()
    await this.#answer(asked, response, () => passOn(asked, this.target))
  }

  async #takeHead(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const [letGo, target] = [this.#letGo, this.target]
    if (letGo === undefined || target === undefined || this.fault !== undefined) {
      response.writeContinue()
      return await this.#take(request, response)
    }
    this.#count(response)
    const ahead = new HeadAhead(headOf(request), target)
    if (!(await ahead.isWanted)) return endWith(response, await ahead.answer)
    response.writeContinue()
    const asked = await readAsked(request).catch(() => undefined)
    if (asked === undefined) return ahead.cut()
    this.travelling += 1
    await letGo.promise
    let isOnWay = true
    const pass = () => {
      const isFirst = isOnWay && this.target !== undefined
      isOnWay = false
      return isFirst ? ahead.give(asked.body) : passOn(asked, this.target)
    }
    await this.#answer(asked, response, pass)
    ahead.cut()
  }

  async #answer(
    asked: Asked,
    response: http.ServerResponse,
    pass: () => Promise<Answer | undefined>,
  ): Promise<void> {
    this.asked.push(asked.path)
    const answer = await (this.fault === undefined ? pass() : this.fault(asked, pass)).catch(() => undefined)
    endWith(response, answer)
  }
}

function passOn({ method, path, headers, body }: Asked, target: string | undefined) {
  return new Promise<Answer | undefined>(resolve => {
    if (target === undefined) return resolve(undefined)
    const onward = http.request(new URL(path, target), { method, headers, agent: false }, reply => {
      resolve(answerOf(reply))
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
