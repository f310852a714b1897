/** Commands for running the node. */
import type { CommandRow } from '../command.ts'
import { may, on, takes, toolFlags } from './row.ts'

const node = () => import('../commands/node.ts')
const starting = () => import('../commands/start.ts')

export const nodeCommands: readonly CommandRow[] = [
  {
    path: 'daemon',
    group: 'node',
    needsDaemon: false,
    summary: 'run the node in the foreground',
    flags: [
      on('--detach', 'run in the background and return once the node answers', '-d'),
      on('--stdio', 'serve the nine MCP tools on standard input and output; joins a node that runs'),
      ...toolFlags,
    ],
    load: async () => (await starting()).daemon,
    example: 'svc daemon --stdio',
  },
  {
    path: 'up',
    group: 'node',
    needsDaemon: false,
    client: true,
    summary: 'start the node in the background',
    positionals: [{ ...may('name', 'the identity to start; without it the one in use'), isIdentity: true }],
    flags: [
      takes('--hub', 'URL', 'also register at this hub, as hub-register does'),
      takes('--name', 'NAME', 'with --hub: name in the directory of the hub'),
      takes('--token', 'CODE', 'with --hub: admission code of a wire-1 hub'),
      takes('--wire', 'N', 'with --hub: the wire version to insist on', ['1', '3']),
    ],
    example: 'svc up --hub https://hub.example --name alice',
    load: async () => (await starting()).up,
  },
  {
    path: 'stop',
    aliases: ['down'],
    group: 'node',
    needsDaemon: true,
    client: true,
    summary: 'stop the node',
    positionals: [
      { ...may('name', 'the identity whose node to stop; without it the one in use'), isIdentity: true },
    ],
    flags: [on('--all', 'stop every node of this home')],
    final: 'no mail is collected or answered until it is started again',
    example: 'svc stop --all',
    load: async () => (await node()).stop,
  },
  {
    path: 'status',
    reads: true,
    group: 'node',
    needsDaemon: true,
    client: true,
    summary: 'show the node: identity, hub, policies, counts',
    example: 'svc status',
    load: async () => (await node()).status,
  },
  {
    path: 'console',
    reads: true,
    group: 'node',
    needsDaemon: true,
    summary: 'open the page of the node in a browser, by a link that counts once',
    flags: [on('--url', 'only print the link')],
    example: 'svc console --url',
    load: async () => (await import('../commands/console.ts')).console,
  },
  {
    path: 'tui',
    group: 'node',
    needsDaemon: true,
    summary: 'the inbox in a terminal: tasks, agents, evidence, the node',
    flags: [
      on('--screen-reader', 'plain lines, top down, for a screen reader'),
      on('--no-mouse', 'leave the mouse to the terminal; M in the inbox turns it on'),
      on('--reduced-motion', 'nothing counts by the second; so does the variable NO_MOTION'),
    ],
    example: 'svc tui',
    load: async () => (await import('../commands/tui.ts')).tui,
  },
  {
    path: 'doctor',
    reads: true,
    group: 'node',
    needsDaemon: false,
    summary: 'find problems of this node and name what mends each',
    example: 'svc doctor',
    load: async () => (await import('../commands/doctor.ts')).doctor,
  },
  {
    path: 'logs',
    reads: true,
    group: 'node',
    needsDaemon: false,
    client: true,
    summary: 'print the last lines of the log (80)',
    positionals: [may('N', 'how many lines')],
    flags: [on('--all', 'the whole log')],
    example: 'svc logs 200',
    load: async () => (await node()).logs,
  },
]
