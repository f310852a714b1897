/**
 * One daemon a data directory: a lock of the operating system, which ends with the process however it ends. The file
 * with the pid beside it is for people and decides nothing.
 */

import * as fs from 'node:fs'
import { join } from 'node:path'
import { Failure } from '../../protocol/encoding/errors.ts'
import { findFile, SECRET_FILE_MODE } from '../platform/files.ts'
import { openLocked } from '../platform/sqlite.ts'

export class DirectoryBusy extends Failure {
  override name = 'DirectoryBusy'
}

/** Takes the lock of a data directory; refuses while another process holds it. */
export function lockDirectory(dir: string): Disposable {
  const path = join(dir, 'lock')
  fs.closeSync(fs.openSync(path, 'a', SECRET_FILE_MODE))
  const lock = openLocked(path)
  const named = join(dir, 'daemon.lock')
  if (lock === undefined) {
    const holder = Number(findFile(named)?.toString('utf8'))
    const who = holder > 0 ? ` (pid ${holder})` : ''
    throw new DirectoryBusy(`a node${who} already runs on ${dir}; stop it with: svc stop`)
  }
  fs.writeFileSync(named, `${process.pid}\n`, { mode: SECRET_FILE_MODE })
  return {
    [Symbol.dispose]() {
      fs.rmSync(named, { force: true })
      lock.close()
    },
  }
}
