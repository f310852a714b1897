/** Commands for what coding agents run. */
import type { CommandRow } from '../command.ts'
import { many, may, need, on, takes, toolFlags } from './row.ts'

const HOOK_FORMATS = ['text', 'claude', 'codex', 'gemini', 'copilot'] as const

const node = () => import('../commands/node.ts')
const other = () => import('../commands/other.ts')
const a2a = () => import('../commands/a2a.ts')

export const agentsCommands: readonly CommandRow[] = [
  {
    path: 'watch',
    reads: true,
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
    needsDaemon: false,
    summary: 'serve the nine MCP tools on standard input and output; refuses where no node runs',
    flags: [on('--start', 'start the node where none runs'), ...toolFlags],
    example: 'svc mcp --start --read-only',
    load: async () => (await node()).mcp,
  },
  {
    path: 'a2a on',
    group: 'agents',
    needsDaemon: true,
    summary: 'let programs that speak A2A give tasks to agents, at an address of this machine',
    flags: [
      takes('--addr', 'HOST:PORT', 'where it listens (127.0.0.1:41241, or the next that is free)'),
      many('--host', 'NAME', 'a further name under which it is called, such as that of a proxy'),
      many('--push-host', 'HOST', 'a host that may be told of news, besides public ones over https'),
    ],
    example: 'svc a2a on',
    load: async () => (await a2a()).a2aOn,
  },
  {
    path: 'a2a off',
    group: 'agents',
    needsDaemon: true,
    summary: 'close that interface; what was begun goes on',
    example: 'svc a2a off',
    load: async () => (await a2a()).a2aOff,
  },
  {
    path: 'a2a status',
    reads: true,
    group: 'agents',
    needsDaemon: true,
    summary: 'whether it is open, and where',
    example: 'svc a2a status',
    load: async () => (await a2a()).a2aStatus,
  },
  {
    path: 'a2a token',
    group: 'agents',
    needsDaemon: true,
    summary: 'print the token that opens it',
    flags: [on('--new', 'make a new one; the one before opens nothing any more')],
    example: 'svc a2a token',
    load: async () => (await a2a()).a2aToken,
  },
  {
    path: 'hook inbox',
    reads: true,
    group: 'agents',
    needsDaemon: false,
    client: true,
    summary: 'what is new from contacts, for the hooks of a coding agent; says nothing where nothing is',
    flags: [takes('--format', 'FORMAT', 'text (default), claude, codex, gemini or copilot', HOOK_FORMATS)],
    example: 'svc hook inbox --format claude',
    load: async () => (await import('../commands/hook.ts')).hookInbox,
  },
  {
    path: 'capability ls',
    reads: true,
    aliases: ['capabilities'],
    group: 'agents',
    needsDaemon: true,
    summary: 'capabilities that this node serves itself',
    example: 'svc capability ls',
    load: async () => (await import('../commands/capability.ts')).ls,
  },
  {
    path: 'capability test',
    reads: true,
    group: 'agents',
    needsDaemon: true,
    summary: 'call one of them as its owner',
    positionals: [need('id', 'the capability, as svc capability ls lists it')],
    flags: [takes('--args', 'JSON', 'the arguments, a JSON object')],
    example: `svc capability test org.get --args '{"name":"motto"}'`,
    load: async () => (await import('../commands/capability.ts')).test,
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
      on(
        '--hooks',
        'also have the tool look for mail at its own events: claude, codex, gemini, copilot and qwen',
      ),
      on('--allow-send', 'with --mcp: let the tool delegate, write and end without asking each time'),
      on('--project', 'into the configuration of the project in this folder, with an identity of its own'),
      on('--remove', 'take out everything that was put there'),
      on('--dry-run', 'show the difference and change nothing'),
      on('--list', 'what stands where, for every tool or for <tool>'),
    ],
    example: 'svc install claude --mcp',
    load: async () => (await import('../commands/install.ts')).install,
  },
  {
    path: 'uninstall',
    group: 'agents',
    needsDaemon: false,
    ofHome: true,
    destroys: true,
    final: 'what svc put into the files of coding agents, and its services, are taken out',
    summary:
      'take svc out of every coding agent, stop its nodes and remove what it keeps outside of its data',
    flags: [
      on('--data', 'also remove every identity with its keys and messages, after a word is typed'),
      on('--dry-run', 'show what would change, and change nothing'),
    ],
    example: 'svc uninstall --dry-run',
    load: async () => (await import('../commands/uninstall.ts')).uninstall,
  },
]
