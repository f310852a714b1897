/**
 * Named points at which a test may kill this process: `SVC_FAULT=<name>` dies at the first pass, `SVC_FAULT=<name>:3`
 * at the third. Without the variable every point is a no-op.
 */

const [faultName, faultCount] = (process.env['SVC_FAULT'] ?? '').split(':')
let passesLeft = Number(faultCount ?? 1)

/** Ends the process as a power cut would, when the test asked for this point. */
export function faultPoint(name: string): void {
  if (name !== faultName) return
  passesLeft -= 1
  if (passesLeft <= 0) process.kill(process.pid, 'SIGKILL')
}
