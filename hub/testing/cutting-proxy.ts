/** For tests: a way to a server that can be cut, and can go silent as one whose machine is gone. */
import { once } from 'node:events'
import { type AddressInfo, createServer, connect as reach, type Server, type Socket } from 'node:net'

type Way = { client: Socket; server: Socket; losesAnswer: boolean; hangs: boolean }
/** What becomes of a connection over which something is said: it is cut before or after that, or hangs from then on. */
type Fault = { text: string; way: 'cut before' | 'cut after' | 'hang before' | 'hang after' }

export class CuttingProxy {
  readonly #listener: Server
  readonly #ways = new Set<Way>()
  #isSilent = false
  #fault: Fault | undefined
  #path: string

  private constructor(socketPath: string) {
    this.#path = socketPath
    this.#listener = createServer(client => this.#open(client, reach(this.#path)))
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
    const way: Way = { client, server, losesAnswer: false, hangs: false }
    this.#ways.add(way)
    client.on('data', (chunk: Buffer) => this.#asked(way, chunk))
    server.on('data', (chunk: Buffer) => {
      if (way.losesAnswer) this.#end(way)
      else if (!this.#isSilent && !way.hangs) client.write(chunk)
    })
    for (const each of [client, server]) {
      each.on('error', () => undefined)
      each.on('close', () => !this.#isSilent && !way.hangs && this.#end(way))
    }
  }

  #asked(way: Way, chunk: Buffer): void {
    if (this.#isSilent || way.hangs) return
    if (this.#fault !== undefined && chunk.includes(this.#fault.text)) {
      const [what, when] = this.#fault.way.split(' ')
      this.#fault = undefined
      way.hangs = what === 'hang'
      way.losesAnswer = what === 'cut' && when === 'after'
      if (what === 'cut' && when === 'before') this.#end(way)
      if (when === 'before') return
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
    this.#fault = { text, way: 'cut before' }
  }

  /** The next time that somebody says this, it gets through, and the connection is cut before the answer. */
  loseAnswerTo(text: string): void {
    this.#fault = { text, way: 'cut after' }
  }

  /** The next time that somebody says this, its connection stays, and nothing more is heard on it by either side. */
  hangAt(text: string, passes: boolean): void {
    this.#fault = { text, way: passes ? 'hang after' : 'hang before' }
  }

  /** All connections that are there hang from now on; new ones are heard. */
  hang(): void {
    for (const way of this.#ways) way.hangs = true
  }

  /** New connections lead to another server; those that are there are cut. */
  leadTo(socketPath: string): void {
    this.#path = socketPath
    this.cut()
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
