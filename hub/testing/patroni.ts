/** For tests: two PostgreSQL servers that Patroni keeps, which elects the primary among them through an etcd of its own. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { freePort, letThrough, PROGRAMS, runsAs, withoutPostgres } from './postgres-server.ts'

const PATRONI = '/usr/bin/patroni'
const ETCD = '/usr/bin/etcd'
const LOOK_MS = 200
const ELECTED_MS = 120_000
/** The shortest that Patroni takes: a primary that says nothing for so long has a successor. */
const TIMES = { ttl: 20, loop_wait: 1, retry_timeout: 3 }
const ROLES = {
  superuser: { username: 'postgres', password: 'postgres' },
  replication: { username: 'replicator', password: 'replicator' },
}

/** Why its tests can't run here; undefined where they can. */
export const withoutPatroni =
  withoutPostgres ??
  (existsSync(PATRONI) && existsSync(ETCD)
    ? undefined
    : 'no Patroni here; on Debian: apt-get install patroni etcd-server')

type Member = { name: string; folder: string; port: number; asked: number; child: ChildProcess | undefined }

export class Patroni {
  readonly #folder: string
  readonly #etcd: ChildProcess
  readonly #etcdAt: string
  readonly #members: Member[] = []

  private constructor(folder: string, etcd: ChildProcess, etcdAt: string) {
    this.#folder = folder
    this.#etcd = etcd
    this.#etcdAt = etcdAt
  }

  static async start(): Promise<Patroni> {
    const folder = mkdtempSync(join(tmpdir(), 'patroni-'))
    if (runsAs().uid !== undefined) letThrough(tmpdir())
    own(folder)
    const [client, peer] = [await freePort(), await freePort()]
    const [clientUrl, peerUrl] = [client, peer].map(port => `http://127.0.0.1:${port}`) as [string, string]
    const given = {
      'data-dir': join(folder, 'etcd'),
      'listen-client-urls': clientUrl,
      'advertise-client-urls': clientUrl,
      'listen-peer-urls': peerUrl,
      'initial-advertise-peer-urls': peerUrl,
      'initial-cluster': `default=${peerUrl}`,
    }
    const flags = Object.entries(given).map(([name, value]) => `--${name}=${value}`)
    const etcd = spawn(ETCD, flags, { ...runsAs(), cwd: folder, stdio: 'ignore' })
    const patroni = new Patroni(folder, etcd, `127.0.0.1:${client}`)
    for (const name of ['one', 'two']) {
      const member = { name, folder: join(folder, name), port: await freePort(), asked: await freePort() }
      patroni.#members.push({ ...member, child: undefined })
    }
    for (const member of patroni.#members) {
      mkdirSync(member.folder)
      own(member.folder)
      patroni.#run(member)
      await patroni.primary()
    }
    await patroni.#standby()
    return patroni
  }

  #run(member: Member): void {
    const settings = join(member.folder, 'patroni.yml')
    writeFileSync(settings, JSON.stringify(settingsOf(member, this.#etcdAt)))
    own(settings)
    member.child = spawn(PATRONI, [settings], { ...runsAs(), cwd: member.folder, stdio: 'ignore' })
  }

  async #is(member: Member, what: 'primary' | 'sync'): Promise<boolean> {
    return await fetch(`http://127.0.0.1:${member.asked}/${what}`).then(
      ({ status }) => status === 200,
      () => false,
    )
  }

  async #which(what: 'primary' | 'sync', wait: string): Promise<Member> {
    for (let waited = 0; waited < ELECTED_MS; waited += LOOK_MS) {
      for (const member of this.#members) if (await this.#is(member, what)) return member
      await pause(LOOK_MS)
    }
    throw new Error(`Patroni has ${wait}`)
  }

  #standby(): Promise<Member> {
    return this.#which('sync', 'no synchronous standby')
  }

  /** The socket of the server that takes changes; waits until there is one. */
  async primary(): Promise<string> {
    const { folder, port } = await this.#which('primary', 'no primary')
    return join(folder, `.s.PGSQL.${port}`)
  }

  /** Ends the primary and who keeps it, as a machine that loses its power does; returns how to start it again. */
  async killPrimary(): Promise<() => Promise<void>> {
    const member = await this.#which('primary', 'no primary')
    const [server] = readFileSync(join(member.folder, 'data', 'postmaster.pid'), 'utf8').split('\n')
    await killed(member.child)
    process.kill(Number(server), 'SIGKILL')
    return async () => {
      this.#run(member)
      await this.#standby()
    }
  }

  async stop(): Promise<void> {
    for (const { child } of this.#members) await killed(child, 'SIGTERM')
    await killed(this.#etcd)
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

function own(path: string): void {
  const { uid, gid } = runsAs()
  if (uid !== undefined) chownSync(path, uid, gid ?? uid)
}

async function killed(child: ChildProcess | undefined, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  if (child.kill(signal)) await ended
}

const settingsOf = ({ name, folder, port, asked }: Member, etcdAt: string) => ({
  scope: 'svc',
  name,
  restapi: { listen: `127.0.0.1:${asked}`, connect_address: `127.0.0.1:${asked}` },
  etcd3: { host: etcdAt },
  bootstrap: {
    dcs: { ...TIMES, synchronous_mode: true, postgresql: { use_pg_rewind: true } },
    initdb: [{ encoding: 'UTF8' }, { locale: 'C.UTF-8' }, 'data-checksums'],
  },
  postgresql: {
    listen: `127.0.0.1:${port}`,
    connect_address: `127.0.0.1:${port}`,
    data_dir: join(folder, 'data'),
    bin_dir: PROGRAMS,
    pgpass: join(folder, 'pgpass'),
    authentication: { ...ROLES, rewind: ROLES.superuser },
    parameters: { unix_socket_directories: folder },
    pg_hba: [
      'local all all trust',
      'host all all 127.0.0.1/32 trust',
      'host replication all 127.0.0.1/32 trust',
    ],
  },
})
