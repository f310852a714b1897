/** The node behind the tools, as a server of them needs it. */
import { NodeUnavailable } from '../../mcp/errors.ts'
import type { ControlCall } from '../../mcp/tool.ts'
import { CommandFailed } from '../io.ts'

/** For a person who started what a coding agent starts. */
export const SERVED =
  'serving MCP on standard input and output, for a coding agent to start; svc help install tells one of it, Ctrl-C ends this'

/** What the command line says of a node that is not there becomes what a model reads. */
export function toolCalls(call: ControlCall): ControlCall {
  return async (...given) => {
    try {
      return await call(...given)
    } catch (error) {
      if (error instanceof CommandFailed)
        throw new NodeUnavailable(error.message, error.next, { cause: error })
      throw error
    }
  }
}

const COUNTED_MAX = 50

/** Open tasks of contacts, for the notice at the start; a node that is not there has none. */
export async function openTasks(call: ControlCall): Promise<number> {
  const open = ['open', 'end_proposed']
  try {
    const { items } = await call('inbox', { unfinished: true, limit: COUNTED_MAX })
    return items.filter(item => item.peer_name !== null && open.includes(item.state)).length
  } catch {
    return 0
  }
}
