/** For tests: a way to a server that can be cut, and can go silent as one whose machine is gone. */
import { once } from 'node:events'
import { type AddressInfo, createServer, connect as reach, type Server, type Socket } from 'node:net'

type Way = { client: Socket; server: Socket; losesAnswer: boolean }

export class CuttingProxy {
  readonly #listener: Server
  readonly #ways = new Set<Way>()
  #isSilent = false
  #word: { text: string; passes: boolean } | undefined

  private constructor(socketPath: string) {
    this.#listener = createServer(client => this.#open(client, reach(socketPath)))
  }

  /** Leads to a server at a socket. */
  static async start(socketPath: string): Promise<CuttingProxy> {
    const proxy = new CuttingProxy(socketPath)
    proxy.#listener.listen(0, '127.0.0.1')
    await once(proxy.#listener, 'listening')
    return proxy
  }

  get port(): number {
    return (this.#listener.address() as AddressInfo).port
  }

  #open(client: Socket, server: Socket): void {
    const way: Way = { client, server, losesAnswer: false }
    this.#ways.add(way)
    client.on('data', (chunk: Buffer) => this.#asked(way, chunk))
    server.on('data', (chunk: Buffer) => {
      if (way.losesAnswer) this.#end(way)
      else if (!this.#isSilent) client.write(chunk)
    })
    for (const each of [client, server]) {
      each.on('error', () => undefined)
      each.on('close', () => !this.#isSilent && this.#end(way))
    }
  }

  #asked(way: Way, chunk: Buffer): void {
    if (this.#isSilent) return
    if (this.#word !== undefined && chunk.includes(this.#word.text)) {
      const { passes } = this.#word
      this.#word = undefined
      way.losesAnswer = passes
      if (!passes) this.#end(way)
    }
    if (!way.server.destroyed) way.server.write(chunk)
  }

  #end(way: Way): void {
    this.#ways.delete(way)
    way.client.destroy()
    way.server.destroy()
  }

  cut(): void {
    for (const way of this.#ways) this.#end(way)
  }

  /** The next time that somebody says this, the connection is cut before it gets through. */
  cutBefore(text: string): void {
    this.#word = { text, passes: false }
  }

  /** The next time that somebody says this, it gets through, and the connection is cut before the answer. */
  loseAnswerTo(text: string): void {
    this.#word = { text, passes: true }
  }

  /** Connections stay, new ones come about, and nothing is heard on any. */
  silence(): void {
    this.#isSilent = true
  }

  /** What is connected anew is heard again. */
  speak(): void {
    this.#isSilent = false
    this.cut()
  }

  async stop(): Promise<void> {
    this.speak()
    this.#listener.close()
    await once(this.#listener, 'close')
  }
}
