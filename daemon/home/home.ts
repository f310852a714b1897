/**
 * Where identities live on this machine: data directories, names, the choice between identities, control ports and
 * the pointer files of running daemons (node specification: data directory, identity naming).
 */

import * as fs from 'node:fs'
import { createServer } from 'node:net'
import { homedir, userInfo } from 'node:os'
import { isAbsolute, join, resolve } from 'node:path'
import { Failure, systemCode, wordsOf } from '../../protocol/encoding/errors.ts'
import { shellWord } from '../../protocol/shell.ts'
import { ensureSecretDirectory, findFile, replaceFile, SECRET_DIRECTORY_MODE } from '../platform/files.ts'

export const CONTROL_PORT_FIRST = 39_811
export const CONTROL_HOST = '127.0.0.1'
export const IDENTITY_NAME_CHARACTERS_MAX = 64
export const DEFAULT_IDENTITY = 'default'
const CONTROL_PORT_END = CONTROL_PORT_FIRST + 1000
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]*$/
const RESERVED_NAME = 'ids'

export type Environment = Readonly<Record<string, string | undefined>>

/** An identity as selected: its name where it has one, its data directory, and whether the user named it. */
export type Selection = { name: string | undefined; dir: string; explicit: boolean }

export class HomeError extends Failure {
  override name = 'HomeError'
}

/** The home of this user; one whose id stands in no list of users has it from HOME alone. */
export function userHome(env: Environment): string {
  try {
    return env['HOME'] || homedir() || userInfo().homedir
  } catch (error) {
    throw new HomeError('this user has no home directory; set HOME', { cause: error })
  }
}

const userId = (): number => process.getuid?.() ?? userInfo().uid

/** The container of named identities. */
export function homeDirectory(env: Environment): string {
  return resolve(env['SVC_HOME'] || join(userHome(env), '.svc'))
}

/** Refuses a name that is not one, or that may not be given to a new identity. */
export function checkIdentityName(name: string, use: 'select' | 'create' | 'remove'): string {
  if (!NAME.test(name) || name.length > IDENTITY_NAME_CHARACTERS_MAX)
    throw new HomeError(
      `"${name}" is not an identity name; use letters, digits, ".", "_" and "-", at most ${IDENTITY_NAME_CHARACTERS_MAX}`,
    )
  if (name === RESERVED_NAME) throw new HomeError(`"${RESERVED_NAME}" is reserved; choose another name`)
  if (use === 'create' && name === DEFAULT_IDENTITY)
    throw new HomeError(`"${DEFAULT_IDENTITY}" always exists and cannot be created; choose another name`)
  if (use === 'remove' && name === DEFAULT_IDENTITY)
    throw new HomeError(
      `"${DEFAULT_IDENTITY}" cannot be deleted by name, because its folder holds every other identity too; svc id deactivate ends it for good`,
    )
  return name
}

/** Data directory of a named identity. */
export function identityDirectory(env: Environment, name: string): string {
  const home = homeDirectory(env)
  return name === DEFAULT_IDENTITY ? home : join(home, 'ids', checkIdentityName(name, 'select'))
}

/** Chooses the identity: `--id`, SVC_ID, SVC_DATA_DIR, the one chosen by `id use`, then `default`. */
export function selectIdentity(env: Environment, flag?: string): Selection {
  const named = flag ?? (env['SVC_ID'] || undefined)
  if (named !== undefined) return { name: named, dir: identityDirectory(env, named), explicit: true }
  const dir = env['SVC_DATA_DIR']
  if (dir) return { name: undefined, dir: resolve(dir), explicit: true }
  const current = currentIdentity(env)
  return {
    name: current,
    dir: identityDirectory(env, current),
    explicit: current !== DEFAULT_IDENTITY || Boolean(env['SVC_HOME']),
  }
}

const currentFile = (env: Environment) => join(homeDirectory(env), 'current')

/** The identity chosen by `id use`. */
export function currentIdentity(env: Environment): string {
  const chosen = readCurrent(env)?.toString('utf8').trim()
  return chosen ? checkIdentityName(chosen, 'select') : DEFAULT_IDENTITY
}

function readCurrent(env: Environment): Buffer | undefined {
  try {
    return findFile(currentFile(env))
  } catch (error) {
    throw new HomeError(
      `the home ${homeDirectory(env)} cannot be read: ${wordsOf(error)}; mend that, or choose another folder with SVC_HOME`,
      { cause: error },
    )
  }
}

/** Makes an existing identity the one that is meant when none is named. */
export function chooseIdentity(env: Environment, name: string): void {
  checkIdentityName(name, 'select')
  if (name !== DEFAULT_IDENTITY && !fs.existsSync(identityDirectory(env, name)))
    throw new HomeError(`there is no identity "${name}"; create it with: svc id new ${name}`)
  ensureSecretDirectory(homeDirectory(env))
  replaceFile(currentFile(env), `${name}\n`)
}

/** Names of the identities of this home; `default` only when it holds a key. */
export function identityNames(env: Environment): string[] {
  const named = listDirectory(join(homeDirectory(env), 'ids')).filter(name => NAME.test(name))
  const byDefault = fs.existsSync(join(homeDirectory(env), 'identity.kel')) ? [DEFAULT_IDENTITY] : []
  return [...byDefault, ...named.sort()]
}

/** Removes the data directory of a named identity for good. */
export function purgeIdentity(env: Environment, name: string): void {
  const dir = identityDirectory(env, checkIdentityName(name, 'remove'))
  fs.rmSync(dir, { recursive: true, force: true })
  if (currentIdentity(env) === name) chooseIdentity(env, DEFAULT_IDENTITY)
}

/** What a running daemon says of itself in its pointer file. */
export type DaemonEntry = {
  pid: number
  control_addr: string
  data_dir: string
  id: string | null
  aid: string
  started_at: number
}

/**
 * The folders of pointer files, the one to read first before the others: XDG_RUNTIME_DIR, which no other user can
 * enter, and the specified one under the shared temporary folder. A folder that is not private to this user is passed
 * over; where none is left, one in the home serves.
 */
export function runtimeDirectories(env: Environment, shared = '/tmp'): string[] {
  const given = env['SVC_RUNTIME_DIR']
  if (given) return [privateDirectory(given)]
  const session = env['XDG_RUNTIME_DIR']
  const known = session && isAbsolute(session) && fs.existsSync(session) ? [join(session, 'svc')] : []
  const usable = [...known, join(shared, `svc-${userId()}`)].filter(isPrivate)
  return usable.length > 0 ? usable : [privateDirectory(join(homeDirectory(env), 'run'))]
}

/** The folder that is read first. */
export const runtimeDirectory = (env: Environment): string => runtimeDirectories(env)[0] as string

function isPrivate(path: string): boolean {
  try {
    return privateDirectory(path) === path
  } catch {
    return false
  }
}

/** Makes the folder if need be, closes one that others could only look into, and refuses one that they could change. */
function privateDirectory(path: string): string {
  made(path)
  const stat = fs.lstatSync(path)
  if (!stat.isDirectory())
    throw new HomeError(`${path} is no folder; move it away, or name another with SVC_RUNTIME_DIR`)
  if (stat.uid !== userId())
    throw new HomeError(`${path} belongs to another user; name another folder with SVC_RUNTIME_DIR`)
  if ((stat.mode & 0o022) !== 0)
    throw new HomeError(`other users can change ${path}; look through it, then: chmod 700 ${shellWord(path)}`)
  if ((stat.mode & 0o077) !== 0) fs.chmodSync(path, SECRET_DIRECTORY_MODE)
  made(join(path, 'daemons'))
  return path
}

function made(path: string): void {
  try {
    ensureSecretDirectory(path)
  } catch (error) {
    throw new HomeError(
      `the runtime folder ${path} cannot be made: ${wordsOf(error)}; mend that, or name another folder with SVC_RUNTIME_DIR`,
      { cause: error },
    )
  }
}

/** Daemons of this user that are alive, whichever folder names them. */
export function daemonsOf(env: Environment): DaemonEntry[] {
  const found = new Map<number, DaemonEntry>()
  for (const entry of runtimeDirectories(env).flatMap(runningDaemons))
    if (!found.has(entry.pid)) found.set(entry.pid, entry)
  return [...found.values()].sort((a, b) => a.started_at - b.started_at)
}

/** Publishes a running daemon to the clients of this user. */
export function announceDaemon(runtimeDir: string, entry: DaemonEntry): void {
  replaceFile(join(runtimeDir, 'daemons', `${entry.pid}.json`), `${JSON.stringify(entry)}\n`)
  refreshPointer(runtimeDir)
}

export function withdrawDaemon(runtimeDir: string, pid: number): void {
  fs.rmSync(join(runtimeDir, 'daemons', `${pid}.json`), { force: true })
  refreshPointer(runtimeDir)
}

/** Daemons of this user that are alive; entries of dead processes are cleared away. */
export function runningDaemons(runtimeDir: string): DaemonEntry[] {
  const folder = join(runtimeDir, 'daemons')
  const alive: DaemonEntry[] = []
  for (const file of listDirectory(folder).filter(name => name.endsWith('.json'))) {
    const entry = parseEntry(findFile(join(folder, file)))
    if (entry !== undefined && isAlive(entry.pid)) alive.push(entry)
    else fs.rmSync(join(folder, file), { force: true })
  }
  return alive.sort((a, b) => a.started_at - b.started_at)
}

/** `daemon.json` points at the only daemon; with none or several there is no such file. */
function refreshPointer(runtimeDir: string): void {
  const [only, ...others] = runningDaemons(runtimeDir)
  const pointer = join(runtimeDir, 'daemon.json')
  if (only !== undefined && others.length === 0) replaceFile(pointer, `${JSON.stringify(only)}\n`)
  else fs.rmSync(pointer, { force: true })
}

/** Checked by hand: every command reads these files, and a schema library would double its start. */
function parseEntry(bytes: Buffer | undefined): DaemonEntry | undefined {
  try {
    const entry = JSON.parse(bytes?.toString('utf8') ?? '') as Record<string, unknown>
    const numbers = Number.isSafeInteger(entry['pid']) && Number.isSafeInteger(entry['started_at'])
    const texts = ['control_addr', 'data_dir', 'aid'].every(name => typeof entry[name] === 'string')
    const named = entry['id'] === null || typeof entry['id'] === 'string'
    return numbers && texts && named && (entry['pid'] as number) > 0 ? (entry as DaemonEntry) : undefined
  } catch {
    return undefined
  }
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    return systemCode(error) === 'EPERM'
  }
  return !isZombie(pid)
}

/** An ended process that nobody has reaped yet still answers to signals. */
function isZombie(pid: number): boolean {
  if (process.platform !== 'linux') return false
  const stat = findFile(`/proc/${pid}/stat`)?.toString('latin1') ?? ''
  return /^[ZX]/.test(stat.slice(stat.lastIndexOf(')') + 2))
}

/**
 * The first loopback port from 39811 upward that is neither taken by another identity nor in use; 0, which means any
 * that is free, where somebody holds them all.
 */
export async function freeControlPort(taken: ReadonlySet<number>): Promise<number> {
  return freePort(CONTROL_PORT_FIRST, CONTROL_PORT_END, taken)
}

/** The first loopback port of a range that is not in use, `taken` left out; 0 where none is free. */
export async function freePort(
  first: number,
  end: number,
  taken: ReadonlySet<number> = new Set(),
): Promise<number> {
  for (let port = first; port < end; port++) {
    if (!taken.has(port) && (await isPortFree(port))) return port
  }
  return 0
}

/** Whether an address is one of those that an identity is given, and no choice of its owner. */
export function isGivenAddress(host: string, port: number): boolean {
  return host === CONTROL_HOST && port >= CONTROL_PORT_FIRST && port < CONTROL_PORT_END
}

async function isPortFree(port: number): Promise<boolean> {
  return (await isFreeAt(CONTROL_HOST, port)) && (await isFreeAt('::1', port))
}

function isFreeAt(host: string, port: number): Promise<boolean> {
  return new Promise(settle => {
    const probe = createServer()
    // a machine without IPv6 has one address, which is asked next
    probe.once('error', error =>
      host !== CONTROL_HOST && systemCode(error) !== 'EADDRINUSE' ? settle(true) : settle(false),
    )
    probe.listen({ port, host, ipv6Only: true }, () => probe.close(() => settle(true)))
  })
}

function listDirectory(path: string): string[] {
  try {
    return fs.readdirSync(path)
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return []
    throw error
  }
}
