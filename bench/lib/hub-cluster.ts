/** Processes of one hub over a PostgreSQL server of its own. */
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PostgresServer } from '../../hub/testing/postgres-server.ts'
import { endedWith } from './ended-with.ts'
import { type HubProcess, startHubProcess } from './hub-load.ts'
import { processorSecondsWithChildren } from './processor-time.ts'

const COPIED = ['identity.kel', 'identity.next', 'secret']

export class HubCluster implements AsyncDisposable {
  readonly server: PostgresServer
  readonly processes: HubProcess[] = []
  readonly #folder = mkdtempSync(join(tmpdir(), 'svc-hub-cluster-bench-'))

  private constructor(server: PostgresServer) {
    this.server = server
  }

  static async start(count: number): Promise<HubCluster> {
    const server = await PostgresServer.start()
    const cluster = new HubCluster(server)
    endedWith(async () => {
      await server.stop()
      rmSync(cluster.#folder, { recursive: true, force: true })
    })
    for (let n = 0; n < count; n++) await cluster.add()
    return cluster
  }

  /** One more process, of the same identity. */
  async add(): Promise<HubProcess> {
    const directory = join(this.#folder, `process-${this.processes.length}`)
    mkdirSync(directory, { mode: 0o700 })
    const [first] = this.processes
    if (first !== undefined)
      for (const name of COPIED) copyFileSync(join(first.directory, name), join(directory, name))
    const flags = ['--store', this.server.url, '--files', join(this.#folder, 'files')]
    const added = await startHubProcess({ built: true, directory, flags, log: this.log })
    this.processes.push(added)
    return added
  }

  /** Processor seconds that its database has used. */
  get databaseSeconds(): number {
    const [pid] = readFileSync(join(this.server.folder, 'data', 'postmaster.pid'), 'utf8').split('\n')
    return processorSecondsWithChildren(Number(pid))
  }

  /** File for what its processes log. */
  get log(): string {
    return join(this.#folder, 'log')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const one of this.processes) await one.stop()
    await this.server.stop()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
