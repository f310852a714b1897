/** The socket on which a node answers the programs of its own user: nobody else can open it, so it asks for no token. */
import * as fs from 'node:fs'
import { join } from 'node:path'
import { type Environment, runtimeDirectory } from './home.ts'

/** What every system takes as the path of a socket. */
const PATH_BYTES_MAX = 100
const NAME = 'control.sock'
const OTHERS = 0o077

/** Where the socket of a data directory is: in it, or in the runtime directory where that path would be too long. */
export function controlSocket(env: Environment, dir: string): string {
  const path = join(dir, NAME)
  if (Buffer.byteLength(path) <= PATH_BYTES_MAX) return path
  const hash = process.getBuiltinModule('node:crypto').createHash('sha256').update(dir).digest('hex')
  return join(runtimeDirectory(env), `${hash.slice(0, 24)}.sock`)
}

/** The socket, where one is there that only this user could have made and can open. */
export function ownSocket(env: Environment, dir: string): string | undefined {
  const path = controlSocket(env, dir)
  const found = fs.lstatSync(path, { throwIfNoEntry: false })
  const isOwn = found?.isSocket() && found.uid === process.getuid?.() && (found.mode & OTHERS) === 0
  return isOwn ? path : undefined
}
