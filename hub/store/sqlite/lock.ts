/** One process a data directory: a lock of the operating system, which ends with the process however it ends. */
import { join } from 'node:path'
import { StoreRefused } from '../port.ts'
import { faultClass, openLock } from './database.ts'

export const LOCK_FILE = 'lock'

export type DirectoryLock = { release(): void }

/** Takes the lock of a data directory, or refuses because another process holds it. */
export function lockDirectory(directory: string): DirectoryLock {
  const lock = takeLock(join(directory, LOCK_FILE), directory)
  return { release: () => lock.close() }
}

function takeLock(path: string, directory: string): ReturnType<typeof openLock> {
  try {
    return openLock(path)
  } catch (error) {
    if (faultClass(error) === 'broken')
      throw new StoreRefused(`${path} is damaged; remove it while no svc-hub uses ${directory}`)
    if (faultClass(error) !== 'busy') throw error
    throw new StoreRefused(`another svc-hub is using ${directory}; stop it first, or give another --data-dir`)
  }
}
