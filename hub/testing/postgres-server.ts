/** For tests: a PostgreSQL server of their own, with a cluster in a temporary folder, reached by a socket in it alone. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

/** Where Debian puts the programs of the oldest release that the hub works with. */
export const PROGRAMS = '/usr/lib/postgresql/15/bin'
const PORT = 5432
const START_MS = 30_000
const LOOK_MS = 100
/** A question that takes longer fails: a commit may wait for a standby without end. */
const ASKED_MS = 60_000
/** Others may go through a folder, and not list it. */
const THROUGH = 0o011

/** Why the tests of a real server can't run here; undefined where they can. */
export const withoutPostgres = existsSync(join(PROGRAMS, 'postgres'))
  ? undefined
  : 'no PostgreSQL 15 here; on Debian: apt-get install postgresql-15'

/** The server refuses to run as root. */
export function runsAs(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {}
  const idOf = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }))
  return { uid: idOf('-u'), gid: idOf('-g') }
}

/** Whoever runs the server gets through the folder of this run to its own, and reads none of the others. */
export function letThrough(folder: string): void {
  const { mode } = statSync(folder)
  if ((mode & THROUGH) !== THROUGH) chmodSync(folder, mode | THROUGH)
}

export type ServerOptions = {
  /** Settings of the server, as in its file. */
  settings?: Readonly<Record<string, string>>
  /** Files for TLS; the server listens at a port of this machine then. */
  tls?: { cert: string; key: string }
  /** Roles give this password. */
  password?: string
  /** Where its data lie, and where its log does, unless in its own folder. */
  data?: string
  log?: string
}

export class PostgresServer {
  readonly #folder: string
  readonly #arguments: readonly string[]
  readonly #password: string | undefined
  readonly #as: ReturnType<typeof runsAs>
  readonly port: number
  #child: ChildProcess | undefined
  /** Of a standby that is told to wait. */
  #receiver: number | undefined

  private constructor(folder: string, port: number, given: readonly string[], password: string | undefined) {
    this.#password = password
    this.#folder = folder
    this.port = port
    this.#arguments = given
    this.#as = runsAs()
  }

  static async start(options: ServerOptions = {}): Promise<PostgresServer> {
    const { settings = {}, tls, password, log } = options
    const folder = mkdtempSync(join(tmpdir(), 'pg-'))
    const as = runsAs()
    const own = (path: string) => as.uid !== undefined && chownSync(path, as.uid, as.gid ?? as.uid)
    own(folder)
    if (as.uid !== undefined) letThrough(tmpdir())
    const data = join(options.data ?? folder, 'data')
    for (const path of [options.data, log]) if (path !== undefined) own(path)
    const access = password === undefined ? ['-A', 'trust'] : passwordAccess(folder, password, own)
    const given = ['-D', data, '-U', 'postgres', ...access, '-E', 'UTF8', '--locale=C.UTF-8']
    if (log !== undefined) given.push('--waldir', join(log, 'wal'))
    execFileSync(join(PROGRAMS, 'initdb'), given, { ...as, cwd: folder, stdio: 'ignore' })
    const port = tls === undefined ? PORT : await freePort()
    const all = {
      ...settings,
      port: String(port),
      listen_addresses: tls === undefined ? '' : '127.0.0.1',
      unix_socket_directories: folder,
      ...(tls === undefined ? {} : tlsSettings(folder, tls, own)),
    }
    const set = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    const server = new PostgresServer(folder, port, ['-D', data, ...set], password)
    await server.resume()
    return server
  }

  get url(): string {
    return `postgres://postgres@localhost/postgres?host=${encodeURIComponent(this.#folder)}`
  }

  get folder(): string {
    return this.#folder
  }

  get socket(): string {
    return join(this.#folder, `.s.PGSQL.${this.port}`)
  }

  /** Starts it, also after it was halted; `more` are settings of this start alone. */
  async resume(more: Readonly<Record<string, string>> = {}): Promise<void> {
    const set = Object.entries(more).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    this.#child = spawn(join(PROGRAMS, 'postgres'), [...this.#arguments, ...set], {
      ...this.#as,
      cwd: this.#folder,
      stdio: 'ignore',
    })
    await this.#ready()
  }

  async #ready(): Promise<void> {
    const asked = ['-h', this.#folder, '-p', String(this.port)]
    for (let waited = 0; waited < START_MS; waited += LOOK_MS) {
      try {
        execFileSync(join(PROGRAMS, 'pg_isready'), asked, { stdio: 'ignore' })
        return
      } catch {
        await pause(LOOK_MS)
      }
    }
    await this.stop()
    throw new Error('the PostgreSQL server did not start')
  }

  /** Runs one statement as its owner, outside any transaction. */
  order(sql: string): void {
    this.ask(sql)
  }

  /** What it answers, without frills. */
  ask(sql: string): string {
    const at = ['-h', this.#folder, '-p', String(this.port), '-U', 'postgres']
    const env = this.#password === undefined ? {} : { PGPASSWORD: this.#password }
    return execFileSync(join(PROGRAMS, 'psql'), [...at, '-qtAc', sql], {
      env,
      stdio: ['ignore', 'pipe', 'ignore'],
      encoding: 'utf8',
      timeout: ASKED_MS,
    }).trim()
  }

  /** Another server that copies this one; a commit is answered once both have it. */
  async standby(): Promise<PostgresServer> {
    const folder = mkdtempSync(join(tmpdir(), 'pg-'))
    const as = runsAs()
    if (as.uid !== undefined) chownSync(folder, as.uid, as.gid ?? as.uid)
    const data = join(folder, 'data')
    const from = ['-h', this.#folder, '-p', String(this.port), '-U', 'postgres']
    const copy = [...from, '-D', data, '-R', '-X', 'stream', '-c', 'fast']
    execFileSync(join(PROGRAMS, 'pg_basebackup'), copy, { ...as, cwd: folder, stdio: 'ignore' })
    const set = ['-c', `unix_socket_directories=${folder}`, '-c', 'listen_addresses=']
    const given = ['-D', data, '-c', `port=${PORT}`, ...set]
    const standby = new PostgresServer(folder, PORT, given, this.#password)
    await standby.resume()
    this.order("ALTER SYSTEM SET synchronous_standby_names = '*'")
    this.order('SELECT pg_reload_conf()')
    while (this.ask('SELECT sync_state FROM pg_stat_replication') !== 'sync') await pause(LOOK_MS)
    return standby
  }

  /** A standby takes nothing more from its primary, as one whose disk or network hangs, until it is told to go on. */
  receive(isOn: boolean): void {
    if (!isOn) this.#receiver = Number(this.ask('SELECT pid FROM pg_stat_wal_receiver'))
    if (this.#receiver === undefined) return
    process.kill(this.#receiver, isOn ? 'SIGCONT' : 'SIGSTOP')
    if (isOn) this.#receiver = undefined
  }

  /** A standby takes changes from here on, and waits for nobody. */
  promote(): void {
    this.order('SELECT pg_promote()')
    this.order("ALTER SYSTEM SET synchronous_standby_names = ''")
    this.order('SELECT pg_reload_conf()')
  }

  /** Resolves once it takes changes, as after a recovery. */
  async untilWritable(): Promise<void> {
    for (let waited = 0; waited < START_MS; waited += LOOK_MS) {
      if (this.#answer('SELECT pg_is_in_recovery()') === 'f') return
      await pause(LOOK_MS)
    }
    throw new Error('the PostgreSQL server still recovers')
  }

  #answer(sql: string): string {
    const at = ['-h', this.#folder, '-p', String(this.port), '-U', 'postgres']
    return execFileSync(join(PROGRAMS, 'psql'), [...at, '-Atc', sql], {
      encoding: 'utf8',
      timeout: ASKED_MS,
    }).trim()
  }

  /** A folder may be written by the server alone. */
  give(folder: string): void {
    if (this.#as.uid !== undefined) chownSync(folder, this.#as.uid, this.#as.gid ?? this.#as.uid)
  }

  /** Ends it, as a crash does where it says so, and keeps what it wrote. */
  async halt(signal: 'SIGINT' | 'SIGQUIT' = 'SIGINT'): Promise<void> {
    const child = this.#child
    if (child === undefined || child.exitCode !== null) return
    // one that is stopped hears nothing of the end
    this.receive(true)
    const ended = once(child, 'exit')
    if (child.kill(signal)) await ended
  }

  /** Ends the connections and the server, and removes its cluster. */
  async stop(): Promise<void> {
    await this.halt()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

type Own = (path: string) => unknown

function passwordAccess(folder: string, password: string, own: Own): string[] {
  const path = join(folder, 'password')
  writeFileSync(path, password)
  own(path)
  return ['-A', 'scram-sha-256', `--pwfile=${path}`]
}

/** The server takes a key that is its own alone. */
function tlsSettings(folder: string, tls: { cert: string; key: string }, own: Own): Record<string, string> {
  const paths = { cert: join(folder, 'server.crt'), key: join(folder, 'server.key') }
  for (const name of ['cert', 'key'] as const) {
    writeFileSync(paths[name], tls[name], { mode: 0o600 })
    own(paths[name])
  }
  return { ssl: 'on', ssl_cert_file: paths.cert, ssl_key_file: paths.key }
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
