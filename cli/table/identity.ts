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
    example: 'svc id ls',
    load: async () => (await identity()).ls,
  },
  {
    path: 'id new',
    aliases: ['create', 'add'],
    group: 'identity',
    needsDaemon: false,
    summary: 'create an identity and start its node',
    positionals: [need('name', 'letters, digits, ".", "_" and "-"; at most 64 characters')],
    example: 'svc id new work',
    load: async () => (await identity()).create,
  },
  {
    path: 'id use',
    aliases: ['switch', 'select'],
    group: 'identity',
    needsDaemon: false,
    summary: 'set the default identity',
    positionals: [need('name', 'an identity of svc id ls, or default')],
    example: 'svc id use work',
    load: async () => (await identity()).use,
  },
  {
    path: 'id rm',
    aliases: ['remove', 'delete'],
    group: 'identity',
    needsDaemon: false,
    summary: 'delete an identity (without --purge only its path is printed)',
    positionals: [need('name', 'an identity of svc id ls')],
    flags: [on('--purge', 'delete its files, the key included; nobody can restore it')],
    example: 'svc id rm work --purge',
    load: async () => (await identity()).rm,
  },
  {
    path: 'id rotate',
    group: 'identity',
    needsDaemon: true,
    summary: 'rotate to the pre-committed key',
    flags: [
      on(
        '--recovery-phrase-stdin',
        'the next key is not on this machine: read its recovery phrase from standard input',
      ),
    ],
    example: 'svc id rotate',
    load: async () => (await identity()).rotate,
  },
  {
    path: 'id deactivate',
    group: 'identity',
    needsDaemon: true,
    summary: 'deactivate this identity permanently',
    flags: [
      on('--yes', 'really: nobody can sign for this identity afterwards'),
      on(
        '--recovery-phrase-stdin',
        'the next key is not on this machine: read its recovery phrase from standard input',
      ),
    ],
    example: 'svc id deactivate --yes',
    load: async () => (await identity()).deactivate,
  },
  {
    path: 'id next export',
    group: 'identity',
    needsDaemon: false,
    summary: 'print the next key as a recovery phrase; --remove deletes it here',
    flags: [on('--remove', 'delete the key here once its phrase is printed')],
    example: 'svc id next export --remove',
    load: async () => (await identity()).nextExport,
  },
  {
    path: 'id next import',
    group: 'identity',
    needsDaemon: false,
    summary: 'restore the next key from its recovery phrase (standard input)',
    example: 'svc id next import < phrase.txt',
    load: async () => (await identity()).nextImport,
  },
]
