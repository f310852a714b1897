/**
 * The machines of docs/host/many-processes.md: two for the database, one for the hub. What an install has and a test can't
 * have stands in this file: certificates of an authority that everybody trusts, names, and systemd.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CHECKOUT, type Machine, Network } from './machines.ts'

const NAMES = { 'db1.example': '203.0.113.1', 'db2.example': '203.0.113.2', 'hub.example': '203.0.113.3' }
/** Where clients come from. */
export const CLIENTS = ['203.0.113.11', '203.0.113.12', '203.0.113.13']
const HOSTS = `127.0.0.1 localhost
${Object.entries(NAMES)
  .map(([name, address]) => `${address} ${name}`)
  .join('\n')}
${NAMES['hub.example']} witness.example
`
export const AUTHORITY = '/etc/ssl/authority.pem'
/** Where a machine has what it shows to others. */
const SERVER = { database: '/etc/postgresql/server', proxy: '/etc/caddy/server' }
export const NODE = process.execPath.replace(new URL('../..', import.meta.url).pathname, `${CHECKOUT}/`)

/** Programs that an install has from elsewhere. */
const PROGRAMS = {
  'svc-hub': `NODE_EXTRA_CA_CERTS=${AUTHORITY} exec ${NODE} ${CHECKOUT}/hub/dist/svc-hub.js "$@"`,
  systemctl: `exec ${NODE} ${CHECKOUT}/test/many-processes/systemctl.ts "$@"`,
  'systemd-notify': `printf '%s\\n' "$@" >>"$NOTIFY_SOCKET"`,
}

type Files = { authority: string; certificate: string; key: string }

/** An authority, and one certificate for all names. */
function certificates(): Files {
  const folder = mkdtempSync(join(tmpdir(), 'svc-many-processes-'))
  const at = (name: string) => join(folder, name)
  const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'ignore', cwd: folder })
  const ec = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
  openssl(
    'req',
    '-x509',
    ...ec,
    '-keyout',
    'ca.key',
    '-out',
    'ca.pem',
    '-days',
    '2',
    '-subj',
    '/CN=authority',
  )
  openssl('req', ...ec, '-keyout', 'machine.key', '-out', 'machine.csr', '-subj', '/CN=machine')
  const names = [...Object.keys(NAMES), 'witness.example'].map(name => `DNS:${name}`).join(',')
  writeFileSync(at('names'), `subjectAltName=${names}`)
  const signed = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2', '-extfile', 'names']
  openssl('x509', '-req', '-in', 'machine.csr', ...signed, '-out', 'machine.pem')
  const read = (name: string) => readFileSync(at(name), 'utf8')
  const files = { authority: read('ca.pem'), certificate: read('machine.pem'), key: read('machine.key') }
  rmSync(folder, { recursive: true })
  return files
}

export class World {
  readonly #network: Network
  readonly #files: Files
  readonly db1: Machine
  readonly db2: Machine
  readonly hub: Machine

  private constructor(network: Network, files: Files, { db1, db2, hub }: Pick<World, 'db1' | 'db2' | 'hub'>) {
    this.#network = network
    this.#files = files
    this.db1 = db1
    this.db2 = db2
    this.hub = hub
  }

  static async make(): Promise<World> {
    const network = await Network.make()
    const files = certificates()
    const db1 = await network.machine([NAMES['db1.example']])
    const db2 = await network.machine([NAMES['db2.example']])
    const hub = await network.machine([NAMES['hub.example'], ...CLIENTS])
    await Promise.all([...[db1, db2].map(machine => installPostgres(machine, files)), install(hub, files)])
    await certify(hub, files, { place: SERVER.proxy, owner: 'caddy' })
    return new World(network, files, { db1, db2, hub })
  }

  /** Another machine in the place of the first server. */
  async again(): Promise<Machine> {
    const machine = await this.#network.machine([NAMES['db1.example']])
    await installPostgres(machine, this.#files)
    return machine
  }

  async close(): Promise<void> {
    await this.#network.close()
  }
}

async function certify(machine: Machine, files: Files, to: { place: string; owner: string }): Promise<void> {
  await machine.write(`${to.place}.pem`, files.certificate)
  await machine.write(`${to.place}.key`, files.key, `-m 0600 -o ${to.owner}`)
}

async function install(machine: Machine, files: Files): Promise<void> {
  await machine.write('/etc/hosts', HOSTS)
  await machine.write(AUTHORITY, files.authority)
  for (const [name, line] of Object.entries(PROGRAMS))
    await machine.write(`/usr/local/bin/${name}`, `#!/bin/sh\n${line}\n`, '-m 0755')
  await machine.must(
    `folder="$(npm root --global)"; mkdir -p "$folder"; ln -sfn ${CHECKOUT}/hub "$folder/svc-hub"`,
  )
}

/** As Debian's package leaves it, on a machine that had none. */
async function installPostgres(machine: Machine, files: Files): Promise<void> {
  await install(machine, files)
  await machine.must(`
    rm -rf /etc/postgresql/* /var/lib/postgresql/*
    install -d -o postgres -g postgres -m 2775 /run/postgresql
    install -d -o postgres -g postgres /var/log/postgresql
    pg_createcluster 15 main`)
  await certify(machine, files, { place: SERVER.database, owner: 'postgres' })
}

/** The proxy with a certificate that is there already, for this site and that of a witness. */
export function withCertificate(caddyfile: string): string {
  const tls = `tls ${SERVER.proxy}.pem ${SERVER.proxy}.key`
  const witness = `witness.example {\n\t${tls}\n\treverse_proxy 127.0.0.1:8099\n}\n`
  return `${caddyfile.replace('hub.example {', `hub.example {\n\t${tls}`)}${witness}`
}
