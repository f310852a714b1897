/**
 * The socket of the device link, in the data directory. It asks for no token: whoever may open the file is believed, so its
 * mode lets nobody but the user of the node.
 */
import { once } from 'node:events'
import { chmodSync, lstatSync, rmSync } from 'node:fs'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { systemCode } from '../../../protocol/encoding/errors.ts'
import { SECRET_FILE_MODE } from '../../platform/files.ts'
import type { Machine } from '../../platform/machine.ts'
import type { Devices } from './devices.ts'
import { limits } from './limits.ts'
import { AdapterLink } from './link.ts'

const OWNER_ONLY = 0o177
/** What every system takes as the path of a socket. */
const PATH_BYTES_MAX = 100
/** How often the log says that an adapter broke the rules. */
const LOG_PAUSE_MS = 60_000

/** Whether a program takes connections at a socket; one of another user may. */
async function isListenedAt(path: string): Promise<boolean> {
  const socket = connect(path)
  try {
    await once(socket, 'connect')
    return true
  } catch (error) {
    return systemCode(error) !== 'ECONNREFUSED'
  } finally {
    socket.destroy()
  }
}

export class LinkSocket {
  readonly #path: string
  readonly #devices: Devices
  readonly #machine: Omit<Machine, 'random'>
  readonly #server: Server
  readonly #links = new Set<AdapterLink>()
  #loggedMs = Number.NEGATIVE_INFINITY
  #unlogged = 0

  constructor(path: string, devices: Devices, machine: Omit<Machine, 'random'>) {
    this.#path = path
    this.#devices = devices
    this.#machine = machine
    this.#server = createServer(socket => this.#accept(socket))
    this.#server.maxConnections = limits.connections.value
  }

  /** Listens from now until the signal aborts. A node without it works on, and says so. */
  open(ending: AbortSignal): void {
    const { log } = this.#machine
    if (Buffer.byteLength(this.#path) > PATH_BYTES_MAX)
      return void log.error(
        { path: this.#path },
        `the path of the device socket has more than ${PATH_BYTES_MAX} bytes; set modules.svclink.socket`,
      )
    this.#server.on('error', error => log.error({ err: error, path: this.#path }, 'no device socket'))
    ending.addEventListener('abort', () => this.#close(), { once: true })
    void this.#listen(ending).catch((error: unknown) =>
      log.error(
        { err: error, path: this.#path },
        'no device socket: the path of modules.svclink.socket is taken; set another one, or free it, then start the node again',
      ),
    )
  }

  /** Only a socket at which nobody listens any more is replaced. */
  async #listen(ending: AbortSignal): Promise<void> {
    const there = lstatSync(this.#path, { throwIfNoEntry: false })
    if (there?.isSocket() === false) throw new Error('what is there is no socket')
    if (there !== undefined && (await isListenedAt(this.#path))) throw new Error('another node listens there')
    if (ending.aborted) return
    if (there !== undefined) rmSync(this.#path)
    const mask = process.umask(OWNER_ONLY)
    try {
      this.#server.listen(this.#path, () => chmodSync(this.#path, SECRET_FILE_MODE))
    } finally {
      process.umask(mask)
    }
  }

  #close(): void {
    this.#server.close()
    for (const link of [...this.#links]) link.end('the node stops')
  }

  #accept(socket: Socket): void {
    const { timers } = this.#machine
    const ended = (link: AdapterLink, words: string) => {
      this.#links.delete(link)
      this.#log(link.name, words)
    }
    this.#links.add(new AdapterLink({ socket, timers, devices: this.#devices, ended }))
  }

  /** One line a minute, however often an adapter comes and goes. */
  #log(adapter: string, words: string): void {
    const { timers, log } = this.#machine
    const now = timers.monotonic()
    if (now - this.#loggedMs < LOG_PAUSE_MS) {
      this.#unlogged += 1
      return
    }
    log.warn({ adapter, others: this.#unlogged }, `an adapter of devices ended: ${words}`)
    this.#loggedMs = now
    this.#unlogged = 0
  }
}
