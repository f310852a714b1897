/** Commands for what coding agents run. */
import type { CommandRow } from '../command.ts'
import { may, on, takes } from './row.ts'

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
  {
    path: 'install',
    group: 'agents',
    needsDaemon: false,
    summary: 'tell a coding agent about svc, and register the MCP server with it',
    positionals: [
      may('tool', 'claude, codex, gemini, opencode, openclaw, copilot or qwen; without one, what is found'),
    ],
    flags: [
      takes('--agent', 'TOOL', 'the same as <tool>'),
      on('--mcp', 'also register the MCP server in the configuration of the tool'),
      on('--allow-send', 'with --mcp: let the tool delegate, write and end without asking each time'),
      on('--remove', 'take out everything that was put there'),
      on('--dry-run', 'show the difference and change nothing'),
      on('--list', 'what stands where, for every tool'),
    ],
    example: 'svc install claude --mcp',
    load: async () => (await import('../commands/install.ts')).install,
  },
]
