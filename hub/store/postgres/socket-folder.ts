/**
 * Whether a socket says who listens there: nobody but root, this user, or the owner of its folder may put one in its place.
 */
import { realpathSync, type Stats, statSync } from 'node:fs'
import { dirname } from 'node:path'

const OTHERS_WRITE = 0o002
/** In such a folder each may remove what is its own. */
const STICKY = 0o1000

/** False also for a folder that is not there yet. */
export function isGuarded(folder: string): boolean {
  try {
    let below = realpathSync(folder)
    if (isOpen(statSync(below))) return false
    for (let above = dirname(below); above !== below; below = above, above = dirname(above))
      if (isOpen(statSync(above)) && !(isSticky(statSync(above)) && isTrusted(statSync(below)))) return false
    return true
  } catch {
    return false
  }
}

const isOpen = ({ mode }: Stats): boolean => (mode & OTHERS_WRITE) !== 0
const isSticky = ({ mode }: Stats): boolean => (mode & STICKY) !== 0
const isTrusted = ({ uid }: Stats): boolean => uid === 0 || uid === process.geteuid?.()
