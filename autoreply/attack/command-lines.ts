/** The command lines of this machine's processes, which every user of it can read. */
import { readdirSync, readFileSync } from 'node:fs'

const LOOK_MS = 50

/** Watches for these words until it is stopped, which says whether they were seen; where there is no /proc, never. */
export function watchCommandLines(words: string): { stop(): boolean } {
  let seen = false
  const look = () => {
    seen ||= commandLines().some(line => line.includes(words))
  }
  const timer = setInterval(look, LOOK_MS)
  return {
    stop() {
      clearInterval(timer)
      return seen
    },
  }
}

function commandLines(): string[] {
  return processes().flatMap(pid => {
    try {
      return [readFileSync(`/proc/${pid}/cmdline`, 'utf8')]
    } catch {
      return []
    }
  })
}

function processes(): string[] {
  try {
    return readdirSync('/proc').filter(name => /^\d+$/.test(name))
  } catch {
    return []
  }
}
