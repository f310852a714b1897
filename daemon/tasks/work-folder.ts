/** The folder in which programs that answer work. */
import { accessSync, constants, statSync } from 'node:fs'
import { isAbsolute } from 'node:path'
import { BackendFailed } from '../../autoreply/backend.ts'

/** A path that was mistyped would be made at the first task. */
export function requireFolder(path: string | undefined): void {
  if (path === undefined) return
  const refused = (why: string) => new BackendFailed(`--work-dir: ${path} ${why}`)
  if (!isAbsolute(path)) throw refused('is not an absolute path; give it from the root on')
  try {
    accessSync(path, constants.W_OK | constants.X_OK)
    if (statSync(path).isDirectory()) return
  } catch {
    throw refused('is no folder that this node can write to; make it first, or correct the path')
  }
  throw refused('is not a folder; make it first, or correct the path')
}
