import { execFileSync } from 'node:child_process'

/** A Python with `cryptography`; undefined where there is none. */
export const python = ['/usr/bin/python3', 'python3'].find(candidate => {
  try {
    execFileSync(candidate, ['-c', 'import cryptography'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
})
