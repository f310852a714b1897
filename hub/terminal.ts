/** What the commands of svc-hub share: printing results, exit codes, and files that are this user's alone. */

export const EXIT_FAILED = 1
export const EXIT_USAGE = 2
/** The configuration is wrong: starting again would end the same way (EX_CONFIG of sysexits.h). */
export const EXIT_CONFIG = 78
/** Nothing that the hub writes is for anybody else on the machine. */
const PRIVATE_UMASK = 0o077

/** From here on every new file is this user's alone. */
export function keepPrivate(): void {
  process.umask(PRIVATE_UMASK)
}

/** Prints a result as JSON; returns the exit code. */
export function print(value: Record<string, unknown>): number {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`)
  return 0
}
