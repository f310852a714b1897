/** A file that is open must stay where it is: what is written to one that was taken away is gone with the process. */
import { statSync } from 'node:fs'

const LOOK_MS = 2000

/** Tells once when another file, or none, stands at the path of one that is open. */
export function watchFile(path: string, onLost: () => void): Disposable {
  const { dev, ino } = statSync(path)
  const timer = setInterval(() => {
    const there = statSync(path, { throwIfNoEntry: false })
    if (there?.dev === dev && there.ino === ino) return
    clearInterval(timer)
    onLost()
  }, LOOK_MS)
  timer.unref()
  return { [Symbol.dispose]: () => clearInterval(timer) }
}
