/**
 * A home of its own for each run of a coding agent: the owner's login, and none of the owner's instructions, servers
 * or settings. What the program keeps of a run (the words of a stranger, as a session) goes away with it.
 */
import {
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'

const LOGIN_BYTES_MAX = 1024 * 1024

type Env = Readonly<Record<string, string | undefined>>

export const ownersHome = (env: Env): string => env['HOME'] ?? homedir()

/** Files with which an owner is logged in: where the owner has them, and where a run looks for them. */
export type Login = {
  owners: string
  /** Below the home of the run. */
  own: string
  files: readonly string[]
  /** They hold the login alone, which the program renews: the old one may be void from then on. */
  renewed: boolean
}

/** Copies a login into the home of a run; what it gives back is called when the run is over. */
export function lendLogin({ owners, own, files, renewed }: Login, home: string): () => void {
  const folder = join(home, own)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const lent = files.flatMap(name => {
    const [from, to] = [join(owners, name), join(folder, name)]
    if (!existsSync(from)) return []
    copyFileSync(from, to)
    return [{ from, to, was: readFileSync(to) }]
  })
  return () => {
    for (const one of renewed ? lent : []) giveBack(one)
  }
}

/** A login that was renewed takes the place of the owner's, unless that is another one by now. */
function giveBack({ from, to, was }: { from: string; to: string; was: Buffer }): void {
  try {
    const now = readPlain(to)
    if (now === undefined) return
    JSON.parse(now.toString('utf8'))
    if (now.equals(was) || !readFileSync(from).equals(was)) return
    const beside = `${from}.svc-${process.pid}`
    writeFileSync(beside, now, { mode: statSync(from).mode & 0o777 })
    renameSync(beside, from)
  } catch {
    // No login any more, or a home that cannot be written: the owner's stays as it is.
  }
}

/** A regular file where it is said to be: the run may have put a link, a pipe or something endless in its place. */
function readPlain(path: string): Buffer | undefined {
  if (lstatSync(dirname(path)).isSymbolicLink()) return undefined
  const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    const stat = fstatSync(file)
    return stat.isFile() && stat.nlink === 1 && stat.size <= LOGIN_BYTES_MAX ? readFileSync(file) : undefined
  } finally {
    closeSync(file)
  }
}

/** Writes a file of the run. */
export function place(path: string, text: string): string {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  writeFileSync(path, text, { mode: 0o600 })
  return path
}

/** How the owner logs in, of the settings of a program that keep everything in one file. */
export function authOf(path: string): unknown {
  try {
    const { security } = JSON.parse(readFileSync(path, 'utf8')) as { security?: { auth?: unknown } }
    return security?.auth
  } catch {
    return undefined
  }
}
