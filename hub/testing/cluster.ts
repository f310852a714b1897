/** For tests: processes of one hub over one database, each with a data directory of its own. */
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { orderRunningHub } from '../operator/socket.ts'
import { TestAgent } from './hub.ts'
import { PostgresServer, type ServerOptions } from './postgres-server.ts'
import { type HubChild, type HubChildOptions, startHubChild } from './process.ts'

/** What each machine of a hub has a copy of. */
const COPIED = ['identity.kel', 'identity.next', 'secret']

type ClusterOptions = {
  /** Where long mail lies. */
  files?: string
  /** What each process finds in its environment. */
  env?: Record<string, string>
  /** Where else they listen. */
  listens?: string[]
  /** Flags with the way to the database, where that is not the server itself. */
  store?: (server: PostgresServer) => Promise<string[]>
  /** Its database, or how that is started; one of its own where none is given. */
  server?: PostgresServer | ServerOptions
}

export type ClusterProcess = HubChild & { directory: string }

export class TestCluster {
  readonly server: PostgresServer
  readonly folder = mkdtempSync(join(tmpdir(), 'svc-hub-cluster-'))
  readonly #all: ClusterProcess[] = []
  #made = 0

  readonly #given: ClusterOptions
  readonly #store: string[]

  private constructor(server: PostgresServer, given: ClusterOptions, store: string[]) {
    this.server = server
    this.#given = given
    this.#store = store
  }

  static async start(processes: number, given: ClusterOptions = {}): Promise<TestCluster> {
    const { server: own } = given
    const server = own instanceof PostgresServer ? own : await PostgresServer.start(own)
    const cluster = new TestCluster(server, given, (await given.store?.(server)) ?? ['--store', server.url])
    for (let n = 0; n < processes; n++) await cluster.add()
    return cluster
  }

  /** Those that were started and not ended. */
  get processes(): readonly ClusterProcess[] {
    return this.#all
  }

  get args(): string[] {
    return [...this.#store, '--files', this.#given.files ?? join(this.folder, 'files')]
  }

  /** Starts one more, or one again on its directory; `env`: what it alone finds there. */
  async add(
    directory = join(this.folder, `process-${this.#made++}`),
    { env = {}, program }: Pick<HubChildOptions, 'env' | 'program'> = {},
  ): Promise<ClusterProcess> {
    const [first] = this.#all
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    if (first !== undefined && first.directory !== directory)
      for (const name of COPIED) copyFileSync(join(first.directory, name), join(directory, name))
    const child = {
      ...(await startHubChild(directory, {
        args: [...this.args, ...(this.#given.listens ?? [])],
        env: { ...this.#given.env, ...env },
        program,
      })),
      directory,
    }
    this.#all.push(child)
    return child
  }

  /** Ends one, and waits until it is gone. */
  async end(process: ClusterProcess, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    this.#all.splice(this.#all.indexOf(process), 1)
    process.kill(signal)
    await process.exited
  }

  /** An agent that was admitted at one process and has registered there. */
  async agent(at: ClusterProcess): Promise<TestAgent> {
    const agent = new TestAgent(at)
    await orderRunningHub(at.directory, { command: 'admit', aid: agent.aid })
    const reply = await agent.register()
    if (reply.status !== 200) throw new Error(`not registered: ${JSON.stringify(reply.json)}`)
    return agent
  }

  async close(): Promise<void> {
    for (const process of [...this.#all]) await this.end(process, 'SIGKILL')
    await this.server.stop()
    rmSync(this.folder, { recursive: true, force: true })
  }
}
