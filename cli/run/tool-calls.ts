/** The node behind the tools: what the command line says of one that is not there becomes what a model reads. */
import { type ControlCall, NodeUnavailable } from '../../mcp/tool.ts'
import { CommandFailed } from '../io.ts'

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
