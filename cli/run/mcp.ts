/** `svc mcp`: the MCP server as a client of a running node, across its restarts; with `--start` it starts one where there is none. */
import * as mcp from '#mcp'
import type { ControlCall } from '../../mcp/tool.ts'
import { buildInfo } from '../../protocol/build-info.ts'
import { findTarget, UnreachableNode, unreachable } from '../client/control.ts'
import type { Input } from '../command.ts'
import { type Io, notice, sayOnTerminal } from '../io.ts'
import { callsAcrossRestarts, eventsOf, listenAgain } from './node-link.ts'
import { Session } from './session.ts'
import { openTasks, SERVED, toolCalls } from './tool-calls.ts'
import { toolSettings } from './tool-settings.ts'

/** With `start` undefined it refuses, with exit code 1, when the node does not answer. */
export async function runClient(
  io: Io,
  input: Input,
  start: (() => Promise<unknown>) | undefined,
): Promise<number> {
  const settings = toolSettings(io, input, mcp)
  const session = new Session(io, input)
  const call = callsAcrossRestarts(io, session)
  try {
    await (await session.connect(io)).call('status')
  } catch (error) {
    if (!(error instanceof UnreachableNode)) throw error
    // no model reads this: a person may have meant another node
    if (start === undefined) throw unreachable(io, { ...findTarget(io, session), isOnly: false })
    await startOrJoin(start, call)
  }
  const open = await openTasks(call)
  const link = { call: toolCalls(call), listen: listenAgain(eventsOf(io, session)) }
  sayOnTerminal(io, SERVED)
  const reason = await mcp.serveStdio(era =>
    mcp.createServer(link, { version: buildInfo.version, open, ...settings }, era),
  )
  notice(io, `the MCP server ends: ${reason}`)
  return 0
}

/** Of several servers that start at once one starts the node; the others find it there. */
async function startOrJoin(start: () => Promise<unknown>, call: ControlCall): Promise<void> {
  try {
    await start()
  } catch (error) {
    await call('status').catch(() => {
      throw error
    })
  }
}
