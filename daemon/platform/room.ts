/** Room on the disk: whether a failure says that there is none, and how much a folder has left. */
import { statfsSync } from 'node:fs'
import { systemCode } from '../../protocol/encoding/errors.ts'

const SQLITE_FULL = 13
const PRIMARY_CODE = 0xff
/** With less than this a large message no longer finds room. */
const SCARCE_BYTES = 16 * 1024 * 1024
const MIB = 1024 * 1024

/** Whether something failed because the disk is full; the system and the store say it each in its own way. */
export function isOutOfRoom(error: unknown): boolean {
  const code = systemCode(error)
  if (code === 'ENOSPC' || code === 'EDQUOT') return true
  const { errcode } = (error ?? {}) as { errcode?: unknown }
  return (
    code === 'ERR_SQLITE_ERROR' && typeof errcode === 'number' && (errcode & PRIMARY_CODE) === SQLITE_FULL
  )
}

/** Whether the store failed, for want of room or because of its disk. */
export const isStoreFailure = (error: unknown): boolean => systemCode(error) === 'ERR_SQLITE_ERROR'

/** What its owner should know when a folder has hardly any room left. */
export function roomWarning(folder: string): string | undefined {
  const { bavail, bsize } = statfsSync(folder)
  const left = bavail * bsize
  if (left >= SCARCE_BYTES) return undefined
  return `the disk has ${(left / MIB).toFixed(1)} MiB left and the node needs ${SCARCE_BYTES / MIB} MiB: large messages wait at the hub, and soon nothing new can be stored; free some room in ${folder} or beside it`
}
