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
  return isOwn(lookAt(path)) ? path : undefined
}

/** What tells that socket from the one of any other start of a node there. */
export function socketMark(env: Environment, dir: string): string | undefined {
  const found = lookAt(controlSocket(env, dir))
  return found !== undefined && isOwn(found) ? `${found.dev} ${found.ino} ${found.ctimeNs}` : undefined
}

/** Where there is none, for whatever reason, whoever asks finds the node in another way or says what is wrong. */
function lookAt(path: string): fs.BigIntStats | undefined {
  try {
    return fs.lstatSync(path, { bigint: true })
  } catch {
    return undefined
  }
}

const isOwn = (found: fs.BigIntStats | undefined): boolean =>
  found?.isSocket() === true &&
  Number(found.uid) === process.getuid?.() &&
  (Number(found.mode) & OTHERS) === 0
