/** Commands for identities. */
import type { CommandRow } from '../command.ts'
import { need, on } from './row.ts'

const identity = () => import('../commands/identity.ts')

export const identityCommands: readonly CommandRow[] = [
  {
    path: 'id ls',
    aliases: ['list'],
    group: 'identity',
    needsDaemon: false,
    summary: 'list the identities of this home',
    load: async () => (await identity()).ls,
  },
  {
    path: 'id new',
    aliases: ['create', 'add'],
    group: 'identity',
    needsDaemon: false,
    summary: 'create an identity and start its node',
    positionals: [need('name')],
    load: async () => (await identity()).create,
  },
  {
    path: 'id use',
    aliases: ['switch', 'select'],
    group: 'identity',
    needsDaemon: false,
    summary: 'set the default identity',
    positionals: [need('name')],
    load: async () => (await identity()).use,
  },
  {
    path: 'id rm',
    aliases: ['remove', 'delete'],
    group: 'identity',
    needsDaemon: false,
    summary: 'delete an identity (without --purge only its path is printed)',
    positionals: [need('name')],
    flags: [on('--purge')],
    load: async () => (await identity()).rm,
  },
  {
    path: 'id rotate',
    group: 'identity',
    needsDaemon: true,
    summary: 'rotate to the pre-committed key',
    flags: [on('--recovery-phrase-stdin')],
    load: async () => (await identity()).rotate,
  },
  {
    path: 'id deactivate',
    group: 'identity',
    needsDaemon: true,
    summary: 'deactivate this identity permanently',
    flags: [on('--yes'), on('--recovery-phrase-stdin')],
    load: async () => (await identity()).deactivate,
  },
  {
    path: 'id next export',
    group: 'identity',
    needsDaemon: false,
    summary: 'print the next key as a recovery phrase; --remove deletes it here',
    flags: [on('--remove')],
    load: async () => (await identity()).nextExport,
  },
  {
    path: 'id next import',
    group: 'identity',
    needsDaemon: false,
    summary: 'restore the next key from its recovery phrase (standard input)',
    load: async () => (await identity()).nextImport,
  },
]
