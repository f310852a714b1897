/** Commands for running the node. */
import type { CommandRow } from '../command.ts'
import { may, on } from './row.ts'

const node = () => import('../commands/node.ts')

export const nodeCommands: readonly CommandRow[] = [
  {
    path: 'daemon',
    group: 'node',
    needsDaemon: false,
    summary: 'run the node in the foreground',
    flags: [on('--detach', '-d'), on('--stdio')],
    load: async () => (await node()).daemon,
    example: 'svc daemon --stdio',
  },
  {
    path: 'up',
    group: 'node',
    needsDaemon: false,
    client: true,
    summary: 'start the node in the background',
    positionals: [may('name')],
    load: async () => (await node()).up,
  },
  {
    path: 'stop',
    aliases: ['down'],
    group: 'node',
    needsDaemon: true,
    client: true,
    summary: 'stop the node',
    positionals: [may('name')],
    flags: [on('--all')],
    load: async () => (await node()).stop,
  },
  {
    path: 'status',
    group: 'node',
    needsDaemon: true,
    client: true,
    summary: 'show the node: identity, hub, policies, counts',
    load: async () => (await node()).status,
  },
  {
    path: 'logs',
    group: 'node',
    needsDaemon: false,
    client: true,
    summary: 'print the last lines of the log (80)',
    positionals: [may('N')],
    flags: [on('--all')],
    load: async () => (await node()).logs,
  },
]
