/** For tests: PgBouncer before a server of the tests, lending a connection for one transaction at a time. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type PostgresServer, runsAs, withoutPostgres } from './postgres-server.ts'

const PROGRAM = '/usr/sbin/pgbouncer'
const LOOK_MS = 50
const PORT = 6432
/** Fewer than the connections of one store: they are shared. */
const POOL_SIZE = 3

/** Why the tests of a pooler can't run here; undefined where they can. */
export const withoutBouncer =
  withoutPostgres ??
  (existsSync(PROGRAM) ? undefined : 'no PgBouncer here; on Debian: apt-get install pgbouncer')

export class Bouncer {
  readonly #folder: string
  #child: ChildProcess | undefined

  private constructor(folder: string) {
    this.#folder = folder
  }

  static async start(server: PostgresServer): Promise<Bouncer> {
    const folder = mkdtempSync(join(tmpdir(), 'bouncer-'))
    const as = runsAs()
    if (as.uid !== undefined) chownSync(folder, as.uid, as.gid ?? as.uid)
    chmodSync(folder, 0o755)
    const users = join(folder, 'users')
    writeFileSync(users, '"postgres" ""\n')
    const settings = join(folder, 'settings')
    const lines = [
      '[databases]',
      `* = host=${server.folder} port=${server.port}`,
      '[pgbouncer]',
      'pool_mode = transaction',
      'auth_type = trust',
      `auth_file = ${users}`,
      'listen_addr =',
      `listen_port = ${PORT}`,
      `unix_socket_dir = ${folder}`,
      `default_pool_size = ${POOL_SIZE}`,
      'server_login_retry = 1',
    ]
    writeFileSync(settings, `${lines.join('\n')}\n`)
    // a command that ran in this process may have kept new files private
    for (const path of [users, settings]) chmodSync(path, 0o644)
    const bouncer = new Bouncer(folder)
    await bouncer.resume()
    return bouncer
  }

  /** Starts it, also after it was killed. */
  async resume(): Promise<void> {
    const socket = join(this.#folder, `.s.PGSQL.${PORT}`)
    rmSync(socket, { force: true })
    const given = { ...runsAs(), cwd: this.#folder, stdio: 'ignore' } as const
    const child = spawn(PROGRAM, ['-q', join(this.#folder, 'settings')], given)
    this.#child = child
    while (!existsSync(socket) && child.exitCode === null) await pause(LOOK_MS)
    if (child.exitCode !== null) throw new Error('PgBouncer did not start')
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    if (child.kill(signal)) await ended
  }

  get url(): string {
    return `postgres://postgres@localhost:${PORT}/postgres?host=${encodeURIComponent(this.#folder)}`
  }

  async stop(): Promise<void> {
    await this.kill('SIGTERM')
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
