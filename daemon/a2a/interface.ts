/** The A2A interface of a running node: opened, moved and closed as the settings say. */
import { isDeepStrictEqual } from 'node:util'
import type { Logger } from 'pino'
import { systemCode, wordsOf } from '../../protocol/encoding/errors.ts'
import type { A2aPort } from '../control/a2a.ts'
import { A2A_HOST, A2A_PORT_END, A2A_PORT_FIRST } from '../home/a2a-config.ts'
import { addressOf } from '../home/config.ts'
import { freePort } from '../home/home.ts'
import type { Notices } from '../platform/notices.ts'
import { refuse } from '../refusal.ts'
import { removeA2aPushes } from '../store/a2a.ts'
import type { Store } from '../store/open.ts'
import type { A2aServer } from './server.ts'
import type { A2aSettings, A2aToken } from './settings.ts'
import type { Works } from './works.ts'

/** Why it cannot listen, and what to do. */
function whyNot(error: unknown): string {
  const elsewhere = 'choose another address: svc a2a on --addr <address>'
  if (systemCode(error) !== 'EADDRINUSE') return `${wordsOf(error)}; ${elsewhere}`
  return `that is in use by another program, and whoever calls it there tells it the token; end that program, then svc a2a on – or ${elsewhere} – and then make another token: svc a2a token --new`
}

const WILDCARDS: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '[::]': '[::1]' }

export class A2aInterface implements A2aPort, AsyncDisposable {
  readonly #settings: A2aSettings
  readonly #store: Store
  readonly #notices: Notices
  readonly #log: Logger
  readonly #load: () => Promise<Works>
  #works: Works | undefined
  #server: A2aServer | undefined
  #bound: string | undefined
  #fault: string | undefined
  #isStarted = false
  /** The settings that it was opened with. */
  #opened: object | undefined
  #changing: Promise<void> = Promise.resolve()

  /** `load` puts together what it serves, once it is first wanted. */
  constructor(
    settings: A2aSettings,
    { store, notices, log }: { store: Store; notices: Notices; log: Logger },
    load: () => Promise<Works>,
  ) {
    this.#settings = settings
    this.#store = store
    this.#notices = notices
    this.#log = log
    this.#load = load
  }

  get bound(): string | undefined {
    return this.#bound
  }

  get url(): string | undefined {
    if (this.#bound === undefined) return undefined
    const [host = '', port = ''] = addressOf(this.#bound)
    return `http://${WILDCARDS[host] ?? host}:${port}`
  }

  get warning(): string | undefined {
    if (this.#fault !== undefined) return this.#fault
    const { outside } = this.#settings
    if (outside === undefined) return undefined
    return `the A2A interface listens on ${outside}: anyone who can reach it and has the token gives tasks in your name; put TLS in front of it`
  }

  /** Opens it where it is on; what it cannot do it says in its status. */
  async start(): Promise<void> {
    this.#isStarted = true
    await this.apply().catch(error => this.#log.warn({ err: error }, 'the A2A interface does not run'))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#works?.rest()
    await this.#changing.catch(() => undefined)
    await this.#close()
    await this.#works?.stop()
  }

  /**
   * `mayMove`: another port is as good. One where it was before it never leaves by itself: its clients would go on telling
   * their token to whoever listens there now.
   */
  apply(mayMove = false): Promise<void> {
    this.#changing = this.#changing
      .catch(() => undefined)
      .then(() => this.#reopen(mayMove))
      .finally(() => this.#notices.say('a2a', this.warning))
    return this.#changing
  }

  /** A new one ends what the one before opened: calls that wait, streams, and addresses that are called. */
  token(renew: boolean): A2aToken & { dropped_pushes?: number } {
    if (!renew) return this.#settings.token()
    const told = this.#settings.renewToken()
    this.#server?.tokenReplaced()
    const store = this.#store
    const dropped = store.transaction(() => removeA2aPushes(store), 'node.a2a')
    this.#works?.dropPushes()
    return dropped === 0 ? told : { ...told, dropped_pushes: dropped }
  }

  async #reopen(mayMove: boolean): Promise<void> {
    const settings = this.#settings.current
    // a node that never opened it has nothing to follow
    if (settings !== undefined) this.#works ??= await this.#load()
    if (this.#isStarted) this.#works?.follow()
    const wanted = settings && { enabled: settings.enabled, addr: settings.addr, hosts: settings.hosts }
    if (this.#server !== undefined && isDeepStrictEqual(wanted, this.#opened)) return
    await this.#close()
    this.#fault = undefined
    this.#opened = wanted
    if (settings?.enabled !== true || this.#works === undefined) return
    this.#settings.token()
    const [host = A2A_HOST, port = '0'] = addressOf(settings.addr)
    const server = this.#works.server({
      token: () => this.#settings.tokenInUse,
      host,
      port: Number(port),
      hosts: settings.hosts ?? [],
      otherPort: mayMove ? () => freePort(A2A_PORT_FIRST, A2A_PORT_END) : undefined,
    })
    try {
      this.#bound = await server.listen()
      this.#server = server
    } catch (error) {
      this.#fault = `the A2A interface is off, because it cannot listen on ${settings.addr}: ${whyNot(error)}`
      refuse('bad_request', this.#fault)
    }
  }

  async #close(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    this.#bound = undefined
    await server?.close()
  }
}
