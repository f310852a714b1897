/** One address in front of several servers, as a balancer gives it: connections go to the first that answers. */
import { once } from 'node:events'
import {
  type AddressInfo,
  connect,
  createServer,
  type NetConnectOpts,
  type Server,
  type Socket,
} from 'node:net'

export class Way {
  readonly #listener: Server
  readonly #open = new Set<Socket>()
  /** In the order in which they are tried. */
  #targets: NetConnectOpts[]
  /** Which target the newest connection went to. */
  last = -1

  private constructor(targets: NetConnectOpts[]) {
    this.#targets = targets
    this.#listener = createServer(client => void this.#lead(client))
  }

  static async open(targets: NetConnectOpts[]): Promise<Way> {
    const way = new Way(targets)
    way.#listener.listen(0, '127.0.0.1')
    await once(way.#listener, 'listening')
    return way
  }

  get port(): number {
    return (this.#listener.address() as AddressInfo).port
  }

  /** New connections go there; those that are open end. */
  leadTo(targets: NetConnectOpts[]): void {
    this.#targets = targets
    this.#endAll()
  }

  close(): void {
    this.#listener.close()
    this.#endAll()
  }

  #endAll(): void {
    for (const socket of this.#open) socket.destroy()
  }

  async #lead(client: Socket): Promise<void> {
    this.#keep(client)
    for (const [n, target] of this.#targets.entries()) {
      const server = await reached(target)
      if (server === undefined) continue
      this.last = n
      this.#keep(server)
      client.pipe(server).pipe(client)
      client.once('close', () => server.destroy())
      server.once('close', () => client.destroy())
      return
    }
    client.destroy()
  }

  #keep(socket: Socket): void {
    this.#open.add(socket)
    socket.on('error', () => undefined)
    socket.once('close', () => this.#open.delete(socket))
  }
}

function reached(target: NetConnectOpts): Promise<Socket | undefined> {
  return new Promise(resolve => {
    const socket = connect(target, () => resolve(socket))
    socket.once('error', () => resolve(undefined))
  })
}
