/** For tests: a PostgreSQL server of their own, with a cluster in a temporary folder, reached by a socket in it alone. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, existsSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

/** Where Debian puts the programs of the oldest release that the hub works with. */
const PROGRAMS = '/usr/lib/postgresql/15/bin'
const START_MS = 30_000
const LOOK_MS = 100
/** Others may go through a folder, and not list it. */
const THROUGH = 0o011

/** Why the tests of a real server can't run here; undefined where they can. */
export const withoutPostgres = existsSync(join(PROGRAMS, 'postgres'))
  ? undefined
  : 'no PostgreSQL 15 here; on Debian: apt-get install postgresql-15'

/** The server refuses to run as root. */
function runsAs(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {}
  const idOf = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }))
  return { uid: idOf('-u'), gid: idOf('-g') }
}

/** Whoever runs the server gets through the folder of this run to its own, and reads none of the others. */
function letThrough(folder: string): void {
  const { mode } = statSync(folder)
  if ((mode & THROUGH) !== THROUGH) chmodSync(folder, mode | THROUGH)
}

export class PostgresServer {
  readonly #folder: string
  readonly #child: ChildProcess

  private constructor(folder: string, child: ChildProcess) {
    this.#folder = folder
    this.#child = child
  }

  static async start(): Promise<PostgresServer> {
    const folder = mkdtempSync(join(tmpdir(), 'pg-'))
    const as = runsAs()
    if (as.uid !== undefined) {
      chownSync(folder, as.uid, as.gid ?? as.uid)
      letThrough(tmpdir())
    }
    const data = join(folder, 'data')
    const given = ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C.UTF-8']
    execFileSync(join(PROGRAMS, 'initdb'), given, { ...as, cwd: folder, stdio: 'ignore' })
    const settings = ['-c', 'listen_addresses=', '-c', `unix_socket_directories=${folder}`]
    const child = spawn(join(PROGRAMS, 'postgres'), ['-D', data, ...settings], {
      ...as,
      cwd: folder,
      stdio: 'ignore',
    })
    const server = new PostgresServer(folder, child)
    await server.#ready()
    return server
  }

  get url(): string {
    return `postgres://postgres@localhost/postgres?host=${encodeURIComponent(this.#folder)}`
  }

  async #ready(): Promise<void> {
    for (let waited = 0; waited < START_MS; waited += LOOK_MS) {
      try {
        execFileSync(join(PROGRAMS, 'pg_isready'), ['-h', this.#folder], { stdio: 'ignore' })
        return
      } catch {
        await pause(LOOK_MS)
      }
    }
    await this.stop()
    throw new Error('the PostgreSQL server did not start')
  }

  /** Ends the connections and the server, and removes its cluster. */
  async stop(): Promise<void> {
    const ended = once(this.#child, 'exit')
    if (this.#child.exitCode === null && this.#child.kill('SIGINT')) await ended
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
