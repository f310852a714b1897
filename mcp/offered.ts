/** Calls that a reply names: of a tool that this server has, else the command by which its user gets the same. */
import { shellWord } from '../protocol/shell.ts'
import { type Arguments, askUserTo, callText } from './call.ts'
import type { ToolContext } from './tool.ts'

type OfferedLine = (args: Arguments) => string
const threadOr =
  (line: string): OfferedLine =>
  ({ interaction_id: id }) =>
    id === undefined ? line : `svc thread ${shellWord(String(id))}`

const lines: Readonly<Record<string, OfferedLine>> = {
  agents_find: ({ query }) => (query === undefined ? 'svc find' : `svc find ${shellWord(String(query))}`),
  task_inbox: threadOr('svc inbox'),
  task_results: threadOr('svc results'),
  task_end: ({ interaction_id: id }) => `svc end ${shellWord(String(id))}`,
}

export function offeredCall(
  { absent, command }: Pick<ToolContext, 'absent' | 'command'>,
  tool: string,
  args: Arguments = {},
): string {
  if (absent?.has(tool) !== true) return callText(tool, args)
  return askUserTo(command(lines[tool]?.(args) ?? 'svc status'))
}
