/** A file that is open must stay where it is: what is written to one that was taken away is gone with the process. */
import { type Stats, statSync } from 'node:fs'
import { systemCode } from '../../protocol/encoding/errors.ts'
import type { Timers } from '../../protocol/timers.ts'

const LOOK_MS = 2000

/** Tells once when another file, or none, stands at the path of one that is open. */
export function watchFile(path: string, timers: Timers, onLost: () => void): Disposable {
  const { dev, ino } = statSync(path)
  const timer = timers.every(LOOK_MS, () => {
    const there = lookAt(path)
    if (there === 'unseen' || (there?.dev === dev && there.ino === ino)) return
    timers.clear(timer)
    onLost()
  })
  timer.unref()
  return { [Symbol.dispose]: () => timers.clear(timer) }
}

/** What stands at a path, or that this cannot be seen now, which says nothing of the file that is open. */
function lookAt(path: string): Stats | undefined | 'unseen' {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch (error) {
    return systemCode(error) === 'ENOTDIR' ? undefined : 'unseen'
  }
}
