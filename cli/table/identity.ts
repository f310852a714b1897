/** Commands for identities. */
import type { CommandRow } from '../command.ts'
import { may, need, on, takes } from './row.ts'

const archive = () => import('../commands/archive.ts')
const WITH_SETTINGS = on(
  '--with-settings',
  'also turn on what its settings start, call and listen on: programs, modules, doors',
)
const PASSPHRASE = takes(
  '--passphrase-file',
  'FILE',
  'its first line is the passphrase; without it the terminal or standard input is asked',
)
const identity = () => import('../commands/identity.ts')

export const identityCommands: readonly CommandRow[] = [
  {
    path: 'id ls',
    reads: true,
    aliases: ['list'],
    group: 'identity',
    ofHome: true,
    needsDaemon: false,
    summary: 'list the identities of this home',
    example: 'svc id ls',
    load: async () => (await identity()).ls,
  },
  {
    path: 'id new',
    aliases: ['create', 'add'],
    group: 'identity',
    ofHome: true,
    needsDaemon: false,
    summary: 'create an identity and start its node',
    positionals: [
      { ...need('name', 'letters, digits, ".", "_" and "-"; at most 64 characters'), isIdentity: true },
    ],
    example: 'svc id new work',
    load: async () => (await identity()).create,
  },
  {
    path: 'id use',
    aliases: ['switch', 'select'],
    group: 'identity',
    ofHome: true,
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
    ofHome: true,
    needsDaemon: false,
    summary: 'delete an identity (without --purge only its path is printed)',
    positionals: [need('name', 'an identity of svc id ls')],
    flags: [on('--purge', 'delete its files, the key included; nobody can restore it')],
    destroys: true,
    final: 'with --purge its files are deleted, the key included; nobody can restore it',
    example: 'svc id rm work --purge',
    load: async () => (await identity()).rm,
  },
  {
    path: 'id export',
    group: 'identity',
    needsDaemon: false,
    summary:
      'put the whole identity into an encrypted file to move it; here it starts no more (node stopped)',
    positionals: [may('file', 'the file to make')],
    flags: [PASSPHRASE, on('--undo', 'let it start here again, because the file was never imported')],
    example: 'svc stop && svc id export alice.svc',
    load: async () => (await archive()).exportIdentity,
  },
  {
    path: 'id import',
    group: 'identity',
    needsDaemon: false,
    summary: 'bring in an identity that was exported on another machine',
    positionals: [
      need('file', 'what svc id export made'),
      { ...may('name', 'the identity that it becomes; without it the one in use'), isIdentity: true },
    ],
    flags: [PASSPHRASE, WITH_SETTINGS],
    example: 'svc id import alice.svc',
    load: async () => (await archive()).importIdentity,
  },
  {
    path: 'backup',
    group: 'identity',
    needsDaemon: false,
    summary: 'save the whole identity to an encrypted file, while its node runs or not',
    positionals: [need('file', 'the file to make')],
    flags: [PASSPHRASE],
    example: 'svc backup monday.svc --passphrase-file secret.txt',
    load: async () => (await archive()).backup,
  },
  {
    path: 'restore',
    group: 'identity',
    needsDaemon: false,
    summary: 'make the data directory anew from a backup, because it is lost',
    positionals: [
      need('file', 'what svc backup made'),
      { ...may('name', 'the identity that it becomes; without it the one in use'), isIdentity: true },
    ],
    flags: [PASSPHRASE, WITH_SETTINGS],
    example: 'svc restore monday.svc',
    load: async () => (await archive()).restore,
  },
  {
    path: 'id kel',
    reads: true,
    group: 'identity',
    needsDaemon: false,
    summary: 'print the key history of this identity, for verify --kel',
    example: 'svc id kel',
    load: async () => (await identity()).kel,
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
    final: 'the present key signs nothing any more; earlier backups hold the old key',
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
      on('--forfeit-credits', 'also where credits at the hub are lost with it'),
      on(
        '--recovery-phrase-stdin',
        'the next key is not on this machine: read its recovery phrase from standard input',
      ),
    ],
    destroys: true,
    final: 'the identity ends for ever, on every hub',
    example: 'svc id deactivate --yes',
    load: async () => (await identity()).deactivate,
  },
  {
    path: 'id next export',
    group: 'identity',
    needsDaemon: false,
    summary: 'print the next key as a recovery phrase; --remove deletes it here',
    flags: [
      on('--remove', 'delete the key here once its phrase is printed'),
      on('--yes', 'really delete it, without a question'),
    ],
    example: 'svc id next export --remove --yes',
    load: async () => (await identity()).nextExport,
  },
  {
    path: 'id next import',
    group: 'identity',
    needsDaemon: false,
    summary: 'restore the next key from its recovery phrase, or from what was exported (standard input)',
    example: 'svc id next import < phrase.txt',
    load: async () => (await identity()).nextImport,
  },
]
