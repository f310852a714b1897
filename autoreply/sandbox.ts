/**
 * bubblewrap around a run: the program sees the system's own files, itself and an empty folder that goes away with the
 * run; no home, no folder of the node, no other process, and the network only where it has to ask a model.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, lstatSync, readlinkSync, realpathSync, statSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { findProgram } from './program.ts'

type Env = Readonly<Record<string, string | undefined>>

/** What holds a run, or why nothing does. */
export type Sandbox = { kind: 'bubblewrap'; program: string } | { kind: 'none'; why: string }

export const NO_SANDBOX: Sandbox = { kind: 'none', why: 'it was turned off with --no-sandbox' }

const PROBE_MS = 5_000
/** Where a system keeps programs and what they are linked with. */
export const PROGRAMS = [
  '/usr',
  '/bin',
  '/sbin',
  '/lib',
  '/lib32',
  '/lib64',
  '/libx32',
  '/opt',
  '/nix',
  '/gnu',
]
/** What programs read of a system's settings; none of it is a secret. */
const SETTINGS = [
  'alternatives',
  'ca-certificates',
  'crypto-policies',
  'group',
  'hosts',
  'ld.so.cache',
  'ld.so.conf',
  'ld.so.conf.d',
  'localtime',
  'nsswitch.conf',
  'passwd',
  'pki',
  'resolv.conf',
  'ssl',
].map(name => `/etc/${name}`)

/** Looks whether bubblewrap is there and works: many containers do not allow what it needs. */
export function findSandbox(env: Env): Sandbox {
  const program = findProgram('bwrap', env['PATH'] ?? '')
  if (program === undefined) return { kind: 'none', why: 'bubblewrap (bwrap) is not installed' }
  const line = [...walls(true), ...shown(placesOf(program, [])), program, '--version']
  const { status, error, stderr } = spawnSync(program, line, {
    env: {},
    encoding: 'utf8',
    timeout: PROBE_MS,
    killSignal: 'SIGKILL',
  })
  if (status === 0) return { kind: 'bubblewrap', program }
  const why = error?.message ?? stderr.trim().split('\n')[0]
  return { kind: 'none', why: `bubblewrap does not work here (${why})` }
}

export type Confinement = {
  env: Env
  /** Of this run; the only place where something can be written, but for `own`. */
  folder: string
  /** Folders that stay out of sight, whatever else shows them. */
  hidden: readonly string[]
  /** Files that may be read, each with the folder that it stands in. */
  named: readonly string[]
  /** Files that may be read, and nothing beside them. */
  alone: readonly string[]
  /** Folders that may be read and written. */
  own: readonly string[]
  network: boolean
}

/** The command line that runs `line` inside. */
export function confined(sandbox: string, line: readonly string[], given: Confinement): string[] {
  const path = given.env['PATH'] ?? ''
  const homes = bothSpellings([given.env['HOME'] ?? homedir()]).filter(home => home !== '/')
  const hidden = bothSpellings(given.hidden)
  const kept = [...homes, ...bothSpellings([tmpdir()]), ...hidden]
  const programs = [line[0] ?? '', 'node'].map(word => findProgram(word, path))
  const files = [...programs, ...given.named].filter(file => file !== undefined && existsSync(file))
  return [
    sandbox,
    ...walls(given.network),
    ...emptied(homes),
    ...shown(files.flatMap(file => placesOf(file as string, kept))),
    ...shown(given.alone),
    ...emptied(hidden),
    ...[given.folder, ...given.own].flatMap(folder => ['--bind-try', folder, folder]),
    '--chdir',
    join(given.folder, 'work'),
    '--',
    ...line,
  ]
}

const walls = (network: boolean): string[] => [
  '--unshare-all',
  ...(network ? ['--share-net'] : []),
  '--die-with-parent',
  '--cap-drop',
  'ALL',
  ...['--proc', '/proc', '--dev', '/dev', '--tmpfs', '/tmp'],
  ...shown([...PROGRAMS, ...SETTINGS]),
]

/** Folders in whose place there is nothing, wherever they lie. */
const emptied = (folders: readonly string[]): string[] => folders.flatMap(folder => ['--tmpfs', folder])

/** Those folders that exist, as they are written and where links lead. */
const bothSpellings = (folders: readonly string[]): string[] => [
  ...new Set(
    folders.filter(folder => existsSync(folder)).flatMap(folder => [resolve(folder), realpathSync(folder)]),
  ),
]

const shown = (paths: readonly string[]): string[] =>
  [...new Set(paths)].flatMap(path => ['--ro-bind-try', path, path])

/**
 * What must be seen for a file to be found and run: the folders that its links lead through, and the packages beside
 * it. A folder that holds one of `kept` is not shown for the sake of one file; the file itself is.
 */
function placesOf(file: string, kept: readonly string[]): string[] {
  const places: string[] = []
  const add = (path: string) => {
    const folders = [dirname(path), realpathSync(dirname(path))]
    const holdsKept = folders.some(folder => kept.some(one => isWithin(one, folder)))
    places.push(holdsKept ? path : dirname(path))
  }
  let at = resolve(file)
  for (; lstatSync(at).isSymbolicLink(); at = resolve(dirname(at), readlinkSync(at))) add(at)
  if (statSync(at).isDirectory())
    places.push(...(kept.some(one => isWithin(one, realpathSync(at))) ? [] : [at]))
  else add(at)
  const real = realpathSync(at)
  const packages = real.indexOf(`${sep}node_modules${sep}`)
  if (packages >= 0) places.push(join(real.slice(0, packages), 'node_modules'))
  else if (real !== at) add(real)
  return places
}

/** Whether a path is `folder` or lies below it. */
export function isWithin(path: string, folder: string): boolean {
  const way = relative(folder, path)
  return way !== '..' && !way.startsWith(`..${sep}`)
}
