/** The lines of the wire that this hub speaks, by version; one listener speaks one of them. */
import type { Wire } from './config.ts'
import type { Line, LineOptions } from './http/line.ts'
import { createApp } from './v3/app.ts'

export const lines: Record<Wire, (options: LineOptions) => Line> = { 3: createApp }
