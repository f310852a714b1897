/**
 * Where the runtime keeps compiled code between commands. What lies there is run, so it must be a folder that nobody
 * else can write: not the runtime's own choice under the shared temporary folder.
 */
import * as fs from 'node:fs'
import { homedir, userInfo } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import { makeFolders } from '../daemon/platform/folders.ts'

const PRIVATE_MODE = 0o700
const OTHERS_WRITE = 0o022

/** The folder, made if need be in a home that is there; undefined where none is private, and then nothing is kept. */
export function compileCacheFolder(env: Readonly<Record<string, string | undefined>>): string | undefined {
  const user = process.getuid?.()
  if (user === undefined) return undefined
  const caches = cachesFolder(env)
  // A home that is named relative to wherever the command runs is nobody's.
  if (caches === undefined || !isAbsolute(caches)) return undefined
  if (!fs.existsSync(dirname(caches))) return undefined
  const own = join(caches, 'svc')
  const folder = join(own, 'compiled')
  try {
    makeFolders(folder, PRIVATE_MODE)
    return [caches, own, folder].every(path => isPrivate(path, user)) ? folder : undefined
  } catch {
    return undefined
  }
}

function cachesFolder(env: Readonly<Record<string, string | undefined>>): string | undefined {
  const given = env['XDG_CACHE_HOME']
  if (given !== undefined && isAbsolute(given)) return given
  try {
    return join(env['HOME'] || homedir() || userInfo().homedir, '.cache')
  } catch {
    return undefined
  }
}

function isPrivate(path: string, user: number): boolean {
  const found = fs.lstatSync(path)
  return found.isDirectory() && found.uid === user && (found.mode & OTHERS_WRITE) === 0
}
