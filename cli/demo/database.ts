/** A PostgreSQL server and a synchronous standby of the demo's own, in a folder of their own. */
import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { CommandFailed } from '../io.ts'

const RELEASES = '/usr/lib/postgresql'
const RELEASE_MIN = 15
const ROLE = 'postgres'
const PASSWORD_BYTES = 18

/** Where Debian puts the programs of a server. */
function programs(): string {
  const releases = existsSync(RELEASES) ? readdirSync(RELEASES).map(Number) : []
  const newest = Math.max(0, ...releases.filter(release => release >= RELEASE_MIN))
  const folder = join(RELEASES, String(newest), 'bin')
  if (existsSync(join(folder, 'postgres'))) return folder
  throw new CommandFailed(
    `this demo needs a PostgreSQL server of release ${RELEASE_MIN} or newer, and starts it itself`,
    'on Debian and Ubuntu: apt-get install postgresql',
  )
}

/** The server refuses to run as root. */
function owner(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {}
  const idOf = (flag: string) => Number(execFileSync('id', [flag, ROLE], { encoding: 'utf8' }))
  return { uid: idOf('-u'), gid: idOf('-g') }
}

export type ServerName = 'primary' | 'standby'

export class Database {
  readonly password = randomBytes(PASSWORD_BYTES).toString('base64url')
  readonly #programs = programs()
  readonly #as = owner()
  readonly #folder = mkdtempSync(join(tmpdir(), 'svc-demo-db-'))
  readonly #running = new Map<ServerName, ChildProcess>()

  constructor() {
    const { uid, gid } = this.#as
    if (uid !== undefined && gid !== undefined) chownSync(this.#folder, uid, gid)
  }

  /** The socket of a server. */
  socket(name: ServerName): string {
    return join(this.#folder, `.s.PGSQL.${ports[name]}`)
  }

  /** Starts both; a commit is answered once both have it. */
  async start({ isSynchronous }: { isSynchronous: boolean }): Promise<void> {
    const secret = join(this.#folder, 'password')
    writeFileSync(secret, this.password, { mode: 0o644 })
    const access = ['-A', 'scram-sha-256', `--pwfile=${secret}`]
    const text = ['-E', 'UTF8', '--locale=C.UTF-8']
    await this.#run('initdb', ['-D', this.#data('primary'), '-U', ROLE, ...access, ...text])
    await this.#serve('primary')
    const copy = ['-D', this.#data('standby'), '-R', '-X', 'stream', '-c', 'fast']
    await this.#run('pg_basebackup', [...this.#at('primary'), ...copy])
    await this.#serve('standby')
    if (!isSynchronous) return
    await this.ask('primary', "ALTER SYSTEM SET synchronous_standby_names = '*'")
    await this.ask('primary', 'SELECT pg_reload_conf()')
  }

  /** The first line of an answer. */
  async ask(name: ServerName, sql: string): Promise<string> {
    const { stdout } = await this.#run('psql', [...this.#at(name), '-qtAc', sql])
    return stdout.trim().split('\n')[0] ?? ''
  }

  /** Ends a server as a machine that loses its power does. */
  async lose(name: ServerName): Promise<void> {
    const child = this.#running.get(name)
    this.#running.delete(name)
    await ended(child, 'SIGQUIT')
  }

  async promote(): Promise<void> {
    await this.#run('pg_ctl', ['promote', '-w', '-D', this.#data('standby')])
  }

  async close(): Promise<void> {
    for (const child of this.#running.values()) await ended(child, 'SIGQUIT')
    rmSync(this.#folder, { recursive: true, force: true })
  }

  #data(name: ServerName): string {
    return join(this.#folder, name)
  }

  #at(name: ServerName): string[] {
    return ['-h', this.#folder, '-p', String(ports[name]), '-U', ROLE]
  }

  #run(program: string, given: string[]) {
    const env = { PATH: process.env['PATH'] ?? '', PGPASSWORD: this.password }
    return promisify(execFile)(join(this.#programs, program), given, { ...this.#as, env, cwd: this.#folder })
  }

  async #serve(name: ServerName): Promise<void> {
    const settings = {
      port: String(ports[name]),
      listen_addresses: '',
      unix_socket_directories: this.#folder,
    }
    const set = Object.entries(settings).flatMap(([setting, value]) => ['-c', `${setting}=${value}`])
    const child = spawn(join(this.#programs, 'postgres'), ['-D', this.#data(name), ...set], {
      ...this.#as,
      cwd: this.#folder,
      stdio: 'ignore',
    })
    this.#running.set(name, child)
    await this.#run('pg_ctl', ['-D', this.#data(name), '-w', '-t', '30', 'status']).catch(() => undefined)
    for (let tries = 0; ; tries++)
      try {
        await this.ask(name, 'SELECT 1')
        return
      } catch (error) {
        if (tries > START_TRIES || child.exitCode !== null) throw error
        await new Promise(resolve => setTimeout(resolve, TRY_MS))
      }
  }
}

/** They name sockets in one folder, and nothing listens elsewhere. */
const ports: Readonly<Record<ServerName, number>> = { primary: 5432, standby: 5433 }
const START_TRIES = 100
const TRY_MS = 100

function ended(child: ChildProcess | undefined, signal: NodeJS.Signals): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return Promise.resolve()
  return new Promise(resolve => {
    child.once('exit', () => resolve())
    child.kill(signal)
  })
}
