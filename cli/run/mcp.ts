/** `svc mcp`: the MCP server as a pure client of a running node; it starts nothing. */
import { createServer, serveStdio } from '../../mcp/server.ts'
import { buildInfo } from '../../protocol/build-info.ts'
import { connect } from '../client/control.ts'
import type { Input } from '../command.ts'
import type { Io } from '../io.ts'
import { toolCalls } from './tool-calls.ts'

/** Refuses to start, with exit code 1, when the node does not answer. */
export async function runClient(io: Io, input: Input): Promise<number> {
  const control = connect(io, input)
  const status = await control.call('status')
  await serveStdio(() =>
    createServer(toolCalls(control.call), { version: buildInfo.version, pending: status.counts.pending }),
  )
  return 0
}
