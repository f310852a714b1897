/** Commands for what coding agents run. */
import type { CommandRow } from '../command.ts'
import { takes } from './row.ts'

const node = () => import('../commands/node.ts')
const other = () => import('../commands/other.ts')

export const agentsCommands: readonly CommandRow[] = [
  {
    path: 'watch',
    group: 'agents',
    needsDaemon: true,
    summary: 'print events of the node, one JSON object per line',
    flags: [takes('--since', 'CURSOR', 'the id of the last event that you have seen')],
    example: 'svc watch',
    load: async () => (await other()).watch,
  },
  {
    path: 'mcp',
    group: 'agents',
    needsDaemon: true,
    summary: 'serve MCP on stdio for a running node',
    example: 'svc mcp',
    load: async () => (await node()).mcp,
  },
]
