/** A file that is open must stay where it is: what is written to one that was taken away is gone with the process. */
import { type Stats, statSync } from 'node:fs'
import { systemCode } from '../../protocol/encoding/errors.ts'

const LOOK_MS = 2000

/** Tells once when another file, or none, stands at the path of one that is open. */
export function watchFile(path: string, onLost: () => void): Disposable {
  const { dev, ino } = statSync(path)
  const timer = setInterval(() => {
    const there = lookAt(path)
    if (there === 'unseen' || (there?.dev === dev && there.ino === ino)) return
    clearInterval(timer)
    onLost()
  }, LOOK_MS)
  timer.unref()
  return { [Symbol.dispose]: () => clearInterval(timer) }
}

/** What stands at a path, or that this cannot be seen now, which says nothing of the file that is open. */
function lookAt(path: string): Stats | undefined | 'unseen' {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch (error) {
    return systemCode(error) === 'ENOTDIR' ? undefined : 'unseen'
  }
}
