/**
 * Whether a socket says who listens there: only root, this user, or the owner and the group of its folder may put one in
 * its place.
 */
import { lstatSync, readlinkSync, realpathSync, type Stats, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

const OTHERS_WRITE = 0o002
/** In such a folder each may remove what is its own. */
const STICKY = 0o1000

/** False also for a folder that is not there yet. */
export function isGuarded(folder: string): boolean {
  try {
    // links that lead nowhere end here
    return !isOpen(statSync(realpathSync(folder))) && isKept(resolve(folder))
  } catch {
    return false
  }
}

/** Whether nobody else may put something at this path, or where a link on the way to it leads. */
function isKept(path: string): boolean {
  const above = dirname(path)
  if (above === path) return true
  const [own, around] = [lstatSync(path), statSync(above)]
  if (isOpen(around) && !(isSticky(around) && isTrusted(own))) return false
  if (own.isSymbolicLink() && !isKept(resolve(realpathSync(above), readlinkSync(path)))) return false
  return isKept(above)
}

const isOpen = ({ mode }: Stats): boolean => (mode & OTHERS_WRITE) !== 0
const isSticky = ({ mode }: Stats): boolean => (mode & STICKY) !== 0
const isTrusted = ({ uid }: Stats): boolean => uid === 0 || uid === process.geteuid?.()
