/** The process that a data directory names as the one that works on it: for people, and for who waits for its end. */
import { join } from 'node:path'
import { findFile } from '../platform/files.ts'

export const holderFile = (dir: string): string => join(dir, 'daemon.lock')

/** Its process id, and `command` where it is no node. */
export function namedHolder(dir: string): { pid: number; purpose: string | undefined } | undefined {
  const [pid, purpose] = findFile(holderFile(dir))?.toString('utf8').trim().split(' ') ?? []
  return Number(pid) > 0 ? { pid: Number(pid), purpose } : undefined
}
