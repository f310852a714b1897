/** One daemon a data directory: a lock file with the pid of its holder, taken over when that process is gone. */
import * as fs from 'node:fs'
import { join } from 'node:path'
import { findFile, SECRET_FILE_MODE } from './files.ts'
import { isAlive } from './home.ts'

export class DirectoryBusy extends Error {
  override name = 'DirectoryBusy'
}

/** Takes the lock of a data directory; refuses while another process holds it. */
export function lockDirectory(dir: string): Disposable {
  const path = join(dir, 'daemon.lock')
  for (let attempt = 0; ; attempt++) {
    try {
      fs.writeFileSync(path, `${process.pid}\n`, { flag: 'wx', mode: SECRET_FILE_MODE })
      break
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || attempt > 0) throw error
      const holder = Number(findFile(path)?.toString('utf8'))
      if (holder > 0 && holder !== process.pid && isAlive(holder))
        throw new DirectoryBusy(`a node (pid ${holder}) already runs on ${dir}; stop it with: svc stop`)
      fs.rmSync(path, { force: true })
    }
  }
  return { [Symbol.dispose]: () => fs.rmSync(path, { force: true }) }
}
