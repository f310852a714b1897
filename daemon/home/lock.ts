/**
 * One daemon a data directory: a lock of the operating system, which ends with the process however it ends. The file
 * with the pid beside it is for people and decides nothing.
 */

import * as fs from 'node:fs'
import { join } from 'node:path'
import { Failure } from '../../protocol/encoding/errors.ts'
import { SECRET_FILE_MODE } from '../platform/files.ts'
import { openLocked } from '../platform/sqlite.ts'
import { holderFile, namedHolder } from './holder.ts'

export class DirectoryBusy extends Failure {
  override name = 'DirectoryBusy'
  /** A node holds it, which stays; a command ends by itself. */
  readonly isNode: boolean
  constructor(message: string, isNode: boolean) {
    super(message)
    this.isNode = isNode
  }
}

const LOCK = 'lock'
const OF_COMMAND = 'command'

/** Takes the lock of a data directory, for a node or for a command; refuses while another process holds it. */
export function lockDirectory(dir: string, purpose: 'node' | 'command' = 'node'): Disposable {
  const path = join(dir, LOCK)
  fs.closeSync(fs.openSync(path, 'a', SECRET_FILE_MODE))
  const lock = openLocked(path)
  if (lock === undefined) throw busyWith(dir)
  const named = holderFile(dir)
  const words = purpose === 'node' ? [process.pid] : [process.pid, OF_COMMAND]
  fs.writeFileSync(named, `${words.join(' ')}\n`, { mode: SECRET_FILE_MODE })
  return {
    [Symbol.dispose]() {
      fs.rmSync(named, { force: true })
      lock.close()
    },
  }
}

function busyWith(dir: string): DirectoryBusy {
  const holder = namedHolder(dir)
  const who = holder === undefined ? '' : ` (pid ${holder.pid})`
  return holder?.purpose === OF_COMMAND
    ? new DirectoryBusy(`another command of svc${who} works on ${dir}; repeat this once it has ended`, false)
    : new DirectoryBusy(`a node${who} already runs on ${dir}; stop it with: svc stop`, true)
}

/** What holds a data directory now; nothing is held or written afterwards. */
export function holderOf(dir: string): DirectoryBusy | undefined {
  const path = join(dir, LOCK)
  if (!fs.existsSync(path)) return undefined
  const lock = openLocked(path)
  lock?.close()
  return lock === undefined ? busyWith(dir) : undefined
}
