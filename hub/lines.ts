/** The lines of the wire that this hub speaks, by version. */
import type { Wire } from './config.ts'
import { choosing } from './http/choice.ts'
import type { Line, LineKind, LineOptions } from './http/line.ts'
import { Shares } from './http/shares.ts'
import { wire1 } from './v1/line.ts'
import { wire3 } from './v3/line.ts'

const kinds: Readonly<Record<Wire, LineKind>> = { 1: wire1, 3: wire3 }

/** What one listener speaks, and what its lines share. */
export type Lines = { line: Line; shares: Shares }

/** Opens lines for one listener; a request that says nothing is for the first. */
export function openLines([first, ...others]: readonly [Wire, ...Wire[]], options: LineOptions): Lines {
  const { limits, memory, timers } = options.hub.context
  const shares = new Shares(
    limits,
    [first, ...others].map(wire => kinds[wire].rows),
    { rates: memory.rates, timers },
  )
  const open = (wire: Wire): Line => kinds[wire].open(options, shares)
  return { line: choosing([open(first), ...others.map(open)]), shares }
}
