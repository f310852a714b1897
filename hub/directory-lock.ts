/** One process a data directory: a lock of the operating system, which ends with the process however it ends. */
import { existsSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { sleep, systemTimers } from '../protocol/timers.ts'
import { removeEmpty } from './files.ts'
import { StoreRefused } from './store/port.ts'
import { faultClass, inWords, openLock } from './store/sqlite/database.ts'

export const LOCK_FILE = 'lock'

/** `undo` lets go too, and takes away what was made for this lock. */
export type DirectoryLock = { release(): void; undo(): void }

/** A command works for moments; whoever finds the directory taken waits so long for it. */
const WAIT_MS = 5000
const RETRY_MS = 50

/** Another process works on the data directory. */
export class DirectoryBusy extends StoreRefused {
  override name = 'DirectoryBusy'
}

/** Takes what needs the lock of a data directory, after a short while if another command has it now. */
export async function whenFree<T>(take: () => T | Promise<T>, waitMs = WAIT_MS): Promise<T> {
  const untilMs = systemTimers.monotonic() + waitMs
  for (;;) {
    try {
      return await take()
    } catch (error) {
      if (!(error instanceof DirectoryBusy) || systemTimers.monotonic() > untilMs) throw error
      await sleep(systemTimers, RETRY_MS)
    }
  }
}

/** The process that holds the lock of a data directory, where the system tells. */
export const lockHolder = (directory: string): number | undefined => holderOf(join(directory, LOCK_FILE))

const LOCKS = '/proc/locks'
/** `1: POSIX  ADVISORY  WRITE 4711 08:01:123456 0 EOF`: process and file. */
const LOCK_LINE = /^\d+: POSIX .* WRITE (\d+) [0-9a-f]+:[0-9a-f]+:(\d+) /

function holderOf(path: string): number | undefined {
  try {
    const { ino } = statSync(path)
    const found = new Set<number>()
    for (const line of readFileSync(LOCKS, 'utf8').split('\n')) {
      const [, pid, file] = LOCK_LINE.exec(line) ?? []
      if (Number(file) === ino && Number(pid) > 0) found.add(Number(pid))
    }
    // another file system may have a file of the same number
    return found.size === 1 ? [...found][0] : undefined
  } catch {
    // not every system tells
    return undefined
  }
}

/** Takes the lock of a data directory, or refuses because another process holds it. `made`: its folders that were not there before. */
export function lockDirectory(directory: string, made: readonly string[] = []): DirectoryLock {
  const path = join(directory, LOCK_FILE)
  const isMade = !existsSync(path)
  const lock = takeLock(path, directory)
  // whoever took it away meanwhile lets nobody else have what is left of it
  if (!existsSync(path)) {
    lock.close()
    throw new DirectoryBusy(`another svc-hub has just used ${directory}; try again`)
  }
  return {
    release: () => lock.close(),
    undo() {
      if (isMade) rmSync(path, { force: true })
      lock.close()
      removeEmpty(made)
    },
  }
}

function takeLock(path: string, directory: string): ReturnType<typeof openLock> {
  try {
    return openLock(path)
  } catch (error) {
    if (faultClass(error) === 'broken')
      throw new StoreRefused(`${path} is damaged; remove it while no svc-hub uses ${directory}`)
    if (faultClass(error) !== 'busy') throw inWords(error)
    const holder = holderOf(path)
    const shown = holder === undefined ? '' : ` (process ${holder})`
    throw new DirectoryBusy(
      `another svc-hub${shown} is using ${directory}, a hub or a command such as backup; wait for it or stop it, or give another --data-dir`,
    )
  }
}
