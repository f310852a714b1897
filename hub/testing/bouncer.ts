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
  readonly #child: ChildProcess

  private constructor(folder: string, child: ChildProcess) {
    this.#folder = folder
    this.#child = child
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
    const child = spawn(PROGRAM, ['-q', settings], { ...as, cwd: folder, stdio: 'ignore' })
    const bouncer = new Bouncer(folder, child)
    while (!existsSync(join(folder, `.s.PGSQL.${PORT}`)) && child.exitCode === null) await pause(LOOK_MS)
    if (child.exitCode !== null) throw new Error('PgBouncer did not start')
    return bouncer
  }

  get url(): string {
    return `postgres://postgres@localhost:${PORT}/postgres?host=${encodeURIComponent(this.#folder)}`
  }

  async stop(): Promise<void> {
    const ended = once(this.#child, 'exit')
    if (this.#child.exitCode === null && this.#child.kill('SIGTERM')) await ended
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
