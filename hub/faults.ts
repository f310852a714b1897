/**
 * Named points at which a crash test ends the process with SIGKILL, in whichever thread the point lies. Without
 * SVC_FAULT=<name>[:count] in the environment a point costs one comparison and does nothing.
 */

const armed = parseFault(process.env['SVC_FAULT'])
let left = armed?.count ?? 0

/** Ends the own process here, at the count-th passage, if this point is armed. */
export function faultPoint(name: string): void {
  if (armed === undefined || armed.name !== name) return
  left -= 1
  if (left <= 0) process.kill(process.pid, 'SIGKILL')
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
