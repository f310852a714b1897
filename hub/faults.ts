/**
 * Named points for tests of faults, in whichever thread a point lies: SVC_FAULT=<name>[:count] ends the process there with
 * SIGKILL, SVC_FAULT_FLUSH=<name>[:count] lets the disk fail there from then on. Unarmed, a point costs one comparison.
 */

const armed = parseFault(process.env['SVC_FAULT'])
let left = armed?.count ?? 0

/** Ends the own process here, at the count-th passage, if this point is armed. */
export function faultPoint(name: string): void {
  if (armed === undefined || armed.name !== name) return
  left -= 1
  if (left <= 0) process.kill(process.pid, 'SIGKILL')
}

/** What the engine says when a flush of the disk has failed. */
const FLUSH_FAILED = 1034
const failing = parseFault(process.env['SVC_FAULT_FLUSH'])
let flushesLeft = failing?.count ?? 0

/** Throws the engine's error of a failed flush, from the count-th passage on, if this point is armed. */
export function flushPoint(name: string): void {
  if (failing === undefined || failing.name !== name) return
  flushesLeft -= 1
  if (flushesLeft <= 0) throw Object.assign(new Error('disk I/O error'), { errcode: FLUSH_FAILED })
}

/** `<name>` or `<name>:<count>`; the count says at which passage. */
export function parseFault(text: string | undefined): { name: string; count: number } | undefined {
  if (text === undefined || text === '') return undefined
  const colon = text.lastIndexOf(':')
  if (colon < 0) return { name: text, count: 1 }
  const count = Number(text.slice(colon + 1))
  if (!Number.isSafeInteger(count) || count < 1) throw new Error(`SVC_FAULT has no valid count: ${text}`)
  return { name: text.slice(0, colon), count }
}
