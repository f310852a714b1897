/**
 * Which files a model may send away, and where it may save one: those of the folders that its client or its user opened, never one that is known
 * to hold secrets. Links are followed before anything is judged; the node guards its own files besides.
 */
import * as fs from 'node:fs'
import { homedir } from 'node:os'
import { isAbsolute, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { wordsOf } from '../protocol/encoding/errors.ts'
import { present } from '../protocol/encoding/present.ts'
import { shellWord } from '../protocol/shell.ts'
import { ToolError } from './errors.ts'
import { BEGINNING_BYTES, holdsKey, isSecret } from './secrets.ts'

export type Files = {
  /** The real path of a file that may be sent; throws {@link ToolError}. */
  allowed(path: string): Promise<string>
  /** The real path of a folder that something may be saved in; throws {@link ToolError}. */
  place(folder: string): Promise<string>
}

export type Folders = {
  /** Folders that the user configured. */
  readonly configured: readonly string[]
  /** Where the client started the server: its project, usually. */
  readonly cwd: string
  /** Folders that the client opened, as URIs; undefined from one that does not say. */
  roots(): Promise<readonly string[] | undefined>
  /** The data directory of the node, which judges by itself what of it may be sent. */
  dataDir(): Promise<string>
}

/** What the kernel shows as files. */
const SYSTEM = ['/proc', '/sys', '/dev'] as const
/** A folder of users in its midst. */
const SHARED_MEMORY = '/dev/shm'

function requireUsual(path: string): void {
  if (path.includes('\0')) refuse('a path has no NUL in it')
  if (!isAbsolute(path)) refuse(`${path} is not an absolute path`)
}

function requireUsers(path: string, real: string): void {
  if (isWithin(SHARED_MEMORY, real) || !SYSTEM.some(folder => isWithin(folder, real))) return
  refuse(`${path} is of the system and no file of a user; it is never sent`)
}

/** The files that a call names, each as the one that may be sent. */
export async function opened(
  given: { file?: string | undefined; attach?: string[] | undefined },
  { files }: { files: Files },
): Promise<{ file?: string; attach?: string[] }> {
  const file = given.file === undefined ? undefined : await files.allowed(given.file)
  const attach: string[] | undefined = given.attach === undefined ? undefined : []
  for (const path of given.attach ?? []) attach?.push(await files.allowed(path))
  return present({ file, attach })
}

export function openFiles(folders: Folders): Files {
  return {
    async allowed(path) {
      requireUsual(path)
      const real = realPath(path)
      requireUsers(path, real)
      if (isWithin(realPath(await folders.dataDir()), real)) return real
      if (isSecret(real) || isSecret(path))
        return refuse(`${path} is a place of secrets, which are never sent`)
      const open = await openFolders(folders)
      if (open.some(folder => isWithin(folder, real))) return checked(path, real)
      return refuseClosed(path, real.slice(0, real.lastIndexOf(sep)) || sep, open)
    },

    async place(path) {
      requireUsual(path)
      const real = realPath(path)
      if (!fs.statSync(real).isDirectory())
        return refuse(`${path} is not a folder; name the one to save it in`)
      const open = await openFolders(folders)
      const within = open.find(folder => isWithin(folder, real))
      if (within === undefined) return refuseClosed(path, real, open)
      if (isSecret(real) || hasHidden(within, real))
        return refuse(
          `${path} is hidden, or a place of secrets, in which nothing is saved; name another folder`,
        )
      return real
    },
  }
}

/** What programs read by themselves stands in hidden folders: hooks, workflows, commands of agents. */
const hasHidden = (open: string, real: string): boolean =>
  relative(open, real)
    .split(sep)
    .some(part => part.startsWith('.'))

function refuseClosed(path: string, folder: string, open: readonly string[]): never {
  const known = open.length === 0 ? 'no folder is open' : `only ${open.join(', ')} is`
  return refuse(
    `${path} is not open to this agent: ${known}; its user opens the folder with --folder ${shellWord(folder)} among the arguments of svc where this agent registers it as an MCP server, and then starts the agent again`,
  )
}

/** Judges the file itself: under another name it may be one of a place of secrets, and its content may be a key. */
function checked(path: string, real: string): string {
  const { isFile, names, beginning } = look(real)
  if (!isFile) return refuse(`${path} is not a file; name a file, or pack a folder into one`)
  if (names > 1)
    return refuse(
      `${path} has ${names} names on this disk (hard links), and another may stand in a place of secrets; ` +
        'a copy that its user makes has one and is sent',
    )
  if (holdsKey(beginning))
    return refuse(`${path} holds a private key, which is never sent; leave it out, or send the public key`)
  return real
}

/** One open file is looked at, whatever its path leads to meanwhile; a pipe keeps nobody waiting. */
function look(path: string): { isFile: boolean; names: number; beginning: Uint8Array } {
  try {
    const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = fs.constants
    const file = fs.openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    try {
      const held = fs.fstatSync(file)
      const beginning = Buffer.alloc(held.isFile() ? Math.min(BEGINNING_BYTES, held.size) : 0)
      const length = beginning.length === 0 ? 0 : fs.readSync(file, beginning, 0, beginning.length, 0)
      return { isFile: held.isFile(), names: held.nlink, beginning: beginning.subarray(0, length) }
    } finally {
      fs.closeSync(file)
    }
  } catch (error) {
    return refuse(`cannot read ${path}: ${wordsOf(error)}`)
  }
}

async function openFolders(folders: Folders): Promise<string[]> {
  const roots = await folders.roots()
  const given = [...folders.configured, ...(roots?.flatMap(pathOf) ?? [])]
  const isSilent = roots === undefined && folders.configured.length === 0
  const all = isSilent && !isBroad(folders.cwd) ? [folders.cwd] : given
  return all.flatMap(folder => {
    try {
      return [fs.realpathSync(folder)]
    } catch {
      return []
    }
  })
}

/** A folder that somebody chose for a project, and not one that holds everything. */
function isBroad(folder: string): boolean {
  return isWithin(folder, homedir())
}

function pathOf(uri: string): string[] {
  try {
    return [fileURLToPath(uri)]
  } catch {
    return []
  }
}

function realPath(path: string): string {
  try {
    return fs.realpathSync(path)
  } catch (error) {
    return refuse(`cannot read ${path}: ${wordsOf(error)}`)
  }
}

function isWithin(folder: string, path: string): boolean {
  const way = relative(folder, path)
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)
}

function refuse(sentence: string): never {
  throw new ToolError('file_unreadable', sentence)
}
