/** The network between a node and a hub: it can be cut, or swallow what comes back. */

import type { AddressInfo } from 'node:net'
import { connect, createServer, type Server, type Socket } from 'node:net'

export class Line {
  readonly #port: number
  readonly #server: Server
  #sockets = new Set<Socket>()
  #state: 'whole' | 'cut' | 'deaf' = 'whole'
  #lateMs = 0

  constructor(port: number) {
    this.#port = port
    this.#server = createServer(near => this.#join(near))
  }

  async open(): Promise<void> {
    await new Promise<void>(done => this.#server.listen(0, '127.0.0.1', done))
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  #join(near: Socket): void {
    near.on('error', () => near.destroy())
    if (this.#state === 'cut') return void near.destroy()
    const far = connect(this.#port, '127.0.0.1')
    far.on('error', () => near.destroy())
    far.on('close', () => near.destroy())
    near.on('close', () => far.destroy())
    near.pipe(far)
    far.on('data', bytes => {
      // the hub did what it was asked, and nobody hears of it
      if (this.#state === 'deaf') near.destroy()
      else if (this.#lateMs === 0) near.write(bytes)
      else setTimeout(() => near.write(bytes), this.#lateMs)
    })
    for (const socket of [near, far]) {
      this.#sockets.add(socket)
      socket.on('close', () => this.#sockets.delete(socket))
    }
  }

  /** Nothing goes through; what is on its way is lost. */
  cut(): void {
    this.#state = 'cut'
    for (const socket of this.#sockets) socket.destroy()
  }

  /** Requests arrive, answers do not. */
  deafen(): void {
    this.#state = 'deaf'
  }

  /** What comes back is so late. */
  slow(ms: number): void {
    this.#lateMs = ms
  }

  mend(): void {
    this.#state = 'whole'
    this.#lateMs = 0
  }

  close(): void {
    this.cut()
    this.#server.close()
  }
}
