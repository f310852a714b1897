/** Processor seconds that processes have used, as /proc tells them. */
import { readdirSync, readFileSync } from 'node:fs'

const TICKS_PER_SECOND = 100
/** Of the fields after the name: the parent, and the ticks in user and system mode, its own and of children that ended. */
const [PARENT, USER, SYSTEM, USER_OF_ENDED, SYSTEM_OF_ENDED] = [1, 11, 12, 13, 14] as const

function fieldsOf(pid: number): number[] | undefined {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ').map(Number)
  } catch {
    return undefined
  }
}

const secondsIn = (pid: number, ...fields: readonly number[]): number => {
  const all = fieldsOf(pid) ?? []
  return fields.reduce((sum, field) => sum + (all[field] ?? 0), 0) / TICKS_PER_SECOND
}

export const processorSeconds = (pid: number): number => secondsIn(pid, USER, SYSTEM)

/** Of a process and of all that it started. */
export function processorSecondsWithChildren(pid: number): number {
  const pids = readdirSync('/proc').map(Number).filter(Number.isInteger)
  const children = pids.filter(child => fieldsOf(child)?.[PARENT] === pid)
  const ended = secondsIn(pid, USER_OF_ENDED, SYSTEM_OF_ENDED)
  return [pid, ...children].reduce((sum, each) => sum + processorSeconds(each), ended)
}
