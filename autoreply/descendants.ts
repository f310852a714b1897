/** Processes that a process started, and those that these started, as the system lists them now. */
import { readdirSync, readFileSync } from 'node:fs'

/** Their ids without its own; none where the system has no list. */
export function descendantsOf(pid: number): number[] {
  const children = new Map<number, number[]>()
  for (const [child, parent] of parents()) children.set(parent, [...(children.get(parent) ?? []), child])
  const found: number[] = []
  const left = [pid]
  for (let at = left.pop(); at !== undefined; at = left.pop()) {
    const own = children.get(at) ?? []
    found.push(...own)
    left.push(...own)
  }
  return found
}

function parents(): [number, number][] {
  try {
    return readdirSync('/proc')
      .filter(name => /^[0-9]+$/.test(name))
      .flatMap(name => {
        const parent = parentOf(name)
        return parent === undefined ? [] : [[Number(name), parent]]
      })
  } catch {
    return []
  }
}

/** Behind the name of the program, which may hold anything, stand its state and its parent. */
function parentOf(name: string): number | undefined {
  try {
    const stat = readFileSync(`/proc/${name}/stat`, 'latin1')
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
  } catch {
    return undefined
  }
}
