/** For tests: a server of the database whose log is archived, so that it can be put back to an earlier time. */
import { execFileSync, spawn } from 'node:child_process'
import {
  chownSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { letThrough, PostgresServer, PROGRAMS, runsAs } from './postgres-server.ts'

const FOLLOWER = 'follower'

export class ArchivedServer {
  readonly server: PostgresServer
  /** Of the log, and of base backups. */
  readonly #folder: string
  #made = 0

  private constructor(server: PostgresServer, folder: string) {
    this.server = server
    this.#folder = folder
  }

  static async start(settings: Readonly<Record<string, string>> = {}): Promise<ArchivedServer> {
    const folder = mkdtempSync(join(tmpdir(), 'pg-archive-'))
    letThrough(tmpdir())
    const { uid, gid = 0 } = runsAs()
    if (uid !== undefined) chownSync(folder, uid, gid)
    const server = await PostgresServer.start({
      settings: {
        ...settings,
        archive_mode: 'on',
        archive_command: `test ! -f ${folder}/%f && cp %p ${folder}/%f`,
      },
    })
    return new ArchivedServer(server, folder)
  }

  /** Takes a base backup while the server runs. */
  backUp(): string {
    const target = join(this.#folder, `base-${this.#made++}`)
    const at = ['-h', this.server.folder, '-p', String(this.server.port), '-U', 'postgres']
    execFileSync(join(PROGRAMS, 'pg_basebackup'), [...at, '-D', target, '-X', 'fetch', '-c', 'fast'], {
      ...runsAs(),
      cwd: this.#folder,
      stdio: 'ignore',
    })
    return target
  }

  /** Lets somebody confirm all that is written, as a standby does, for as long as the server runs. */
  async follow(): Promise<{ stop: () => void }> {
    const at = ['-h', this.server.folder, '-p', String(this.server.port), '-U', 'postgres']
    const target = join(this.#folder, 'followed')
    mkdirSync(target)
    this.#give(target)
    const child = spawn(
      join(PROGRAMS, 'pg_receivewal'),
      [...at, '-D', target, '--synchronous', '--no-loop'],
      {
        ...runsAs(),
        cwd: this.#folder,
        env: { PGAPPNAME: FOLLOWER },
        stdio: 'ignore',
      },
    )
    this.server.order(`ALTER SYSTEM SET synchronous_standby_names = '${FOLLOWER}'`)
    this.server.order('SELECT pg_reload_conf()')
    return { stop: () => void child.kill() }
  }

  /** Names this moment, so that the server can be put back to it. */
  mark(name: string): void {
    this.server.order(`SELECT pg_create_restore_point('${name}')`)
    // the log up to here goes to the archive
    this.server.order('SELECT pg_switch_wal()')
  }

  /** Puts the server back to a marked moment, or to the end of its log; it answers at the same address. */
  async putBack(base: string, name?: string): Promise<void> {
    await this.server.halt()
    const data = join(this.server.folder, 'data')
    renameSync(data, join(this.#folder, `gone-${this.#made++}`))
    cpSync(base, data, { recursive: true })
    writeFileSync(join(data, 'recovery.signal'), '')
    this.#give(data)
    await this.server.resume({
      // who followed is gone
      synchronous_standby_names: '',
      restore_command: `cp ${this.#folder}/%f %p`,
      ...(name !== undefined && { recovery_target_name: name, recovery_target_action: 'promote' }),
    })
    await this.server.untilWritable()
  }

  #give(data: string): void {
    const { uid, gid = 0 } = runsAs()
    if (uid === undefined) return
    chownSync(data, uid, gid)
    for (const name of readdirSync(data, { recursive: true })) chownSync(join(data, String(name)), uid, gid)
  }

  async stop(): Promise<void> {
    await this.server.stop()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
