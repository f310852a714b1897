/** Stands where the tools were left out of the build. */
import type * as server from './server.ts'

export const isCompiled: boolean = false
export const tools: typeof server.tools = []
export const createServer: typeof server.createServer = () => left()
export const serveStdio: typeof server.serveStdio = () => left()

function left(): never {
  throw new Error('the tools are not in this build')
}
