/** Signals of the program: taken before anything else is loaded, so that one of the first moments is none of the system's. */

/** What ends a hub in order, with its exit code: 1 for what stops no service, so that a supervisor starts it anew. */
const ENDING = {
  SIGTERM: 0,
  SIGINT: 0,
  SIGHUP: 0,
  SIGQUIT: 0,
  SIGUSR2: 1,
  SIGALRM: 1,
  SIGVTALRM: 1,
  SIGXCPU: 1,
  SIGIO: 1,
  SIGPWR: 1,
} as const
const ending = Object.entries(ENDING) as [keyof typeof ENDING, number][]

const first = Promise.withResolvers<{ code: number; why: string }>()
/** The first signal that ends the hub. */
export const ended = first.promise

/** The runtime would open a port for a debugger. */
export function refuseDebugger(): void {
  process.on('SIGUSR1', () => undefined)
}

/** From here on these signals end a hub in order, also while it starts; another one changes nothing. */
export function takeEndings(): void {
  for (const [signal, code] of ending) {
    if (process.listenerCount(signal) === 0) process.on(signal, () => first.resolve({ code, why: signal }))
  }
}
