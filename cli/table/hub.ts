/** Commands for the hub and the profile; those of the auto-reply stand behind them. */
import type { CommandRow } from '../command.ts'
import { autoReplyCommands } from './autoreply.ts'
import { many, may, need, on, takes } from './row.ts'

const node = () => import('../commands/node.ts')
const hub = () => import('../commands/hub.ts')
const p2p = () => import('../commands/p2p.ts')

export const hubCommands: readonly CommandRow[] = [
  {
    path: 'hub-register',
    group: 'hub',
    needsDaemon: true,
    summary: 'register at a hub',
    positionals: [need('url', 'address of the hub, http or https')],
    flags: [
      takes('--name', 'NAME', 'name in the directory of the hub'),
      takes('--caps', 'a,b', 'capabilities, separated by commas; they replace those before'),
      takes('--token', 'CODE', 'admission code of a wire-1 hub; wire-3 hubs admit by AID instead'),
      takes('--guest-messages', 'N', 'open tasks and messages that one stranger may have, 0 or more (5)'),
      takes('--accept-delegations', 'true|false', 'whether to take tasks at all'),
      takes('--wire', 'N', 'the wire version to insist on', ['1', '3']),
      on(
        '--recovery-phrase-stdin',
        'the next key is not on this machine: read its recovery phrase from standard input',
      ),
    ],
    load: async () => (await hub()).register,
    example: 'svc hub-register https://hub.example --caps text.summarise',
  },
  {
    path: 'hub-leave',
    group: 'hub',
    needsDaemon: true,
    summary: 'deregister at a hub',
    positionals: [may('url', 'the hub; without it the current one')],
    final: 'mail of others for this node is refused there',
    example: 'svc hub-leave',
    load: async () => (await hub()).leave,
  },
  {
    path: 'accept',
    group: 'hub',
    needsDaemon: true,
    summary: 'accept or refuse incoming tasks',
    positionals: [need('on|off', 'on takes tasks, off refuses everybody')],
    example: 'svc accept off',
    load: async () => (await hub()).accept,
  },
  {
    path: 'profile set',
    group: 'hub',
    needsDaemon: true,
    summary: 'change the public profile (@path reads a file)',
    flags: [
      takes('--summary', 'TEXT', 'one sentence in the directory'),
      takes('--readme', 'TEXT', 'a longer text; @path reads a file'),
      takes('--caps', 'a,b', 'capabilities, separated by commas; they replace those before'),
      takes('--pricing', 'TEXT', 'a text about prices, for hubs of wire 1'),
    ],
    example: 'svc profile set --summary "Reports" --readme @readme.md',
    load: async () => (await hub()).profileSet,
  },
  {
    path: 'profile show',
    reads: true,
    group: 'hub',
    needsDaemon: true,
    client: true,
    summary: 'show the profile',
    example: 'svc profile show',
    load: async () => (await node()).status,
  },
  {
    path: 'visibility',
    group: 'hub',
    needsDaemon: true,
    summary: 'set who can see the directory entry',
    positionals: [
      need('hub-local|federated|public', 'this hub only, hubs that it federates with, or everybody'),
    ],
    example: 'svc visibility public',
    load: async () => (await hub()).visibility,
  },
  {
    path: 'p2p-advertise',
    group: 'hub',
    needsDaemon: true,
    summary: 'say where this node takes mail directly; no address withdraws it',
    positionals: [may('addr', 'host:port; without it the address is withdrawn')],
    example: 'svc p2p-advertise agent.example:4001',
    load: async () => (await p2p()).advertise,
  },
  {
    path: 'p2p on',
    group: 'hub',
    needsDaemon: true,
    summary: 'send to contacts directly, who then see the address of this machine',
    flags: [many('--host', 'HOST', 'a host that is called although it is not public; an empty one ends all')],
    example: 'svc p2p on',
    load: async () => (await p2p()).on,
  },
  {
    path: 'p2p off',
    group: 'hub',
    needsDaemon: true,
    summary: 'send everything by the hub',
    example: 'svc p2p off',
    load: async () => (await p2p()).off,
  },
  {
    path: 'p2p status',
    group: 'hub',
    needsDaemon: true,
    summary: 'show what is set of direct delivery, and where contacts take mail',
    example: 'svc p2p status',
    load: async () => (await p2p()).status,
  },
  {
    path: 'p2p serve',
    group: 'hub',
    needsDaemon: true,
    summary: 'take mail at an address, for the running node',
    flags: [takes('--listen', 'HOST:PORT', 'where to listen (127.0.0.1:4001)')],
    example: 'svc p2p serve --listen 0.0.0.0:4001',
    load: async () => (await p2p()).serve,
  },
  ...autoReplyCommands,
]
